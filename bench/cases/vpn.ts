/**
 * `VPN`: throughput and latency between two machines of an internet of namespaces: bare WireGuard, our VPN directly
 * (with packets as long as the path takes, and as long as every path does) and by its relay, and bytes through two TLS
 * connections.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { selfSigned } from '../../transport/vpn/relay/self-signed.ts';
import { startBenchServer } from '../fleet/database.ts';
import { interleave, type Sample, type Side } from '../method/interleave.ts';
import { bareWireguard } from '../peers/bare-wireguard.ts';
import { missingPeers } from '../../test/support/run/peers.ts';
import { createScope, type Scope } from '../../test/support/scope.ts';
import type { Machine } from '../../test/support/networks/internet.ts';
import { until } from '../../test/support/until.ts';
import {
  connected,
  nodeName,
  reaches,
  startFixture,
  type Member,
  type Fixture,
} from '../../test/support/vpn/fixture.ts';
import { compare } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Bytes of one transfer, in MiB. */
const MIB = 128;
const REPEATS = 5;

/** Echoes of which the latency is the median. */
const ECHOES = 50;

/** MTU of what an operator sets up by hand, and that of our VPNs. */
const MTUS = [1_420, 1_280] as const;

/** Targets. Source: docs/performance.md. */
const DIRECT_RATIO_MIN = 0.95;
const RELAYED_RATIO_MIN = 0.5;

const IPERF_PORT = 5_201;
const RELAY_PORT = 7_443;

/** Measures them, in turns. `--mib` sets the size of a transfer. */
export async function vpn({ report, repeats = REPEATS, mib = MIB }: CaseOptions): Promise<void> {
  const missing = await missingPeers(['root', 'tun', 'ip', 'nft', 'conntrack', 'ping', 'iperf3', 'wg', 'wireguard-go']);
  if (missing.length > 0) return report.note(`not on this machine, so nothing was measured: ${missing.join(' ')}`);
  const scope = createScope();
  const postgres = await startBenchServer();
  scope.teardown(() => postgres.stop());
  try {
    const fixture = await startFixture(scope, undefined, await postgres.create('vpn'));
    await fixture.rest.post('/clusters', { name: 'bench' });
    const [direct, directShort, relayed, relayedShort, bare, floor] = [
      await pair(fixture, 'direct'),
      await pair(fixture, 'direct-short'),
      await pair(fixture, 'relayed'),
      await pair(fixture, 'relayed-short'),
      await pair(fixture, 'bare'),
      await pair(fixture, 'floor'),
    ];
    for (const machines of [relayed, relayedShort]) await fixture.internet.partition(...machines);
    const short = { VPN_PATH_MTU_DISCOVERY: 'false' };
    const ends = [
      await members(fixture, direct),
      await members(fixture, relayed),
      await members(fixture, directShort, short),
      await members(fixture, relayedShort, short),
    ] as const;
    for (const [index, pairOf] of ends.entries()) {
      const path = index % 2 === 0 ? 'direct' : 'relayed';
      await until(`a ${path} path`, async () => (await fixture.pathTo(...pairOf))?.path === path, 180_000);
    }
    for (const [machines, mtu] of [
      [direct, 'mtu 1440'],
      [relayed, 'mtu 8960'],
    ] as const)
      for (const machine of machines)
        await until(mtu, async () => (await machine.run('ip', ['route'])).stdout.includes(mtu), 180_000);
    const sides: Side[] = [];
    for (const mtu of MTUS) sides.push(side(`bare ${mtu}`, bare[0], await bareWireguard(bare, `bw${mtu}`, mtu), mib));
    sides.push(
      side('direct', direct[0], nodeName(ends[0][1], 'bench'), mib),
      side('direct 1280', directShort[0], nodeName(ends[2][1], 'bench'), mib),
      side('relayed', relayed[0], nodeName(ends[1][1], 'bench'), mib),
      side('relayed 1280', relayedShort[0], nodeName(ends[3][1], 'bench'), mib),
      side('relay floor', floor[0], await tlsRelay(scope, fixture, floor), mib, false),
    );
    const result = await interleave(sides, repeats);
    const only = (...names: readonly string[]) => ({
      ...result,
      samples: new Map([...result.samples].filter(([name]) => names.includes(name))),
    });
    const atLeast =
      (ratioMin: number) =>
      ({ ratio }: { readonly ratio: number | null }) =>
        (ratio ?? 0) >= ratioMin;
    for (const finding of compare(
      'vpn',
      { mib },
      only('bare 1420', 'bare 1280', 'direct', 'direct 1280'),
      atLeast(DIRECT_RATIO_MIN),
      'bare 1420',
    ))
      report.add({ ...finding, ...(finding.side.endsWith('1280') && { verdict: 'none' as const }) });
    for (const finding of compare(
      'vpn',
      { mib },
      only('relayed', 'relayed 1280', 'relay floor'),
      atLeast(RELAYED_RATIO_MIN),
      'relay floor',
    ))
      report.add({ ...finding, ...(finding.side.endsWith('1280') && { verdict: 'none' as const }) });
  } finally {
    await scope.end();
  }
}

/** Two public machines; the second has a server of iperf3. */
async function pair({ internet }: Fixture, name: string): Promise<[Machine, Machine]> {
  const machines: [Machine, Machine] = [await internet.host(`${name}-1`), await internet.host(`${name}-2`)];
  machines[1].spawn('iperf3', ['--server']);
  return machines;
}

async function members(
  fixture: Fixture,
  [one, other]: readonly [Machine, Machine],
  env: Readonly<Record<string, string>> = {},
): Promise<[Member, Member]> {
  const ends: [Member, Member] = [await fixture.member(one, 'bench', env), await fixture.member(other, 'bench', env)];
  await connected(...ends);
  await reaches(ends[0], nodeName(ends[1], 'bench'), 60_000);
  return ends;
}

/** The floor of relays between two machines. Resolves with the address that leads from the first to the second. */
async function tlsRelay(scope: Scope, { host }: Fixture, [one, other]: readonly [Machine, Machine]): Promise<string> {
  const program = new URL('../floor/tls-relay.ts', import.meta.url).pathname;
  const [key, certificate] = [join(host.directory, 'floor-key.pem'), join(host.directory, 'floor-certificate.pem')];
  const made = selfSigned(host.address, Date.now());
  await Promise.all([writeFile(key, made.key, { mode: 0o600 }), writeFile(certificate, made.certificate)]);
  const parts = [
    other.spawn(process.execPath, [program, 'out', `${RELAY_PORT}`, `127.0.0.1:${IPERF_PORT}`, key, certificate]),
    host.spawn(process.execPath, [
      program,
      'relay',
      `${RELAY_PORT}`,
      `${other.address}:${RELAY_PORT}`,
      key,
      certificate,
    ]),
    one.spawn(process.execPath, [program, 'in', `${IPERF_PORT}`, `${host.address}:${RELAY_PORT}`]),
  ];
  scope.teardown(() => {
    for (const part of parts) part.kill();
  });
  for (const part of parts) await until('a part of the relay', () => part.output.includes('listens'));
  return '127.0.0.1';
}

/** Latency is that of ICMP, which goes through no relay of streams. */
function side(name: string, from: Machine, target: string, mib: number, hasEchoes = true): Side {
  return {
    name,
    async run(): Promise<Sample> {
      const { stdout } = await from.run('iperf3', [
        '--client',
        target,
        '--bytes',
        `${mib}M`,
        '--json',
        '--connect-timeout',
        '20000',
      ]);
      const {
        end: { sum_received: received },
      } = JSON.parse(stdout) as {
        readonly end: { readonly sum_received: { readonly bytes: number; readonly seconds: number } };
      };
      const mbit = (received.bytes * 8) / received.seconds / 1e6;
      // By the rate: how much was received when the client stopped counting differs a little.
      return {
        seconds: (mib * 1_048_576 * 8) / 1e6 / mbit,
        readings: { mbit_per_s: mbit, ...(hasEchoes && { rtt_ms: await echo(from, target) }) },
      };
    },
  };
}

async function echo(from: Machine, target: string): Promise<number> {
  const { stdout } = await from.run('ping', ['-c', `${ECHOES}`, '-i', '0.02', target]);
  const times = [...stdout.matchAll(/time=([\d.]+) ms/gu)].map(([, ms]) => Number(ms)).toSorted((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? Number.NaN;
}
