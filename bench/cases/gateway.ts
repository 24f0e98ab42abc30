/**
 * `gateway`: streams into a machine through its admin, by the admin's gateway in the VPN and by a tunnel beside it.
 * Both without TLS: else an admin takes no gateway that is slower.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AdminMetricsResource } from '../../api/metrics/resource.ts';
import { FLEET_KEYS } from '../../test/support/fleet.ts';
import { missingPeers } from '../../test/support/run/peers.ts';
import { createScope } from '../../test/support/scope.ts';
import { until } from '../../test/support/until.ts';
import { connected, nodeName, startFixture, type Fixture, type Member } from '../../test/support/vpn/fixture.ts';
import { startBenchServer } from '../fleet/database.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { compare } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Bytes of one transfer, in MiB. */
const MIB = 128;
const REPEATS = 7;

/** Small answers of which the latency is the median. */
const ASKED = 20;

const WEB_PORT = 8_080;
const PROXY_PORT = 43_128;

/** The two machines have the same in both. */
const CLUSTERS = { gateway: {}, tunnel: { VPN_ENABLED: 'false' } } as const;

/** Measures both, in turns. `--mib` sets the size of a transfer. */
export async function gateway({ report, repeats = REPEATS, mib = MIB }: CaseOptions): Promise<void> {
  const missing = await missingPeers(['root', 'tun', 'ip', 'nft', 'conntrack', 'ping', 'curl', 'wg', 'wireguard-go']);
  if (missing.length > 0) return report.note(`not on this machine, so nothing was measured: ${missing.join(' ')}`);
  const scope = createScope();
  const postgres = await startBenchServer();
  scope.teardown(() => postgres.stop());
  try {
    const fixture = await startFixture(scope, undefined, await postgres.create('gateway'));
    const sides: Side[] = [];
    for (const [name, env] of Object.entries(CLUSTERS)) {
      await fixture.rest.post('/clusters', { name });
      const member = await fixture.member(await fixture.internet.host(name), name, env);
      await connected(member);
      sides.push(await side(fixture, member, name, mib));
    }
    await until('a direct path to the gateway', async () => (await pathsOf(fixture))['direct'] === 1, 180_000);
    await until('a tunnel in the VPN', async () => {
      for (const one of sides) await one.run();
      return ((await metricsOf(fixture)).tunnels.opened_by_path['mesh'] ?? 0) > 0;
    });
    const result = await interleave(sides, repeats);
    for (const finding of compare('gateway', { mib }, result, undefined, 'tunnel')) report.add(finding);
  } finally {
    await scope.end();
  }
}

const metricsOf = ({ rest }: Fixture): Promise<AdminMetricsResource> =>
  rest.get<AdminMetricsResource>('/admins/me/metrics');

const pathsOf = async (fixture: Fixture): Promise<Readonly<Record<string, number>>> =>
  (await metricsOf(fixture)).mesh?.peers_by_path ?? {};

/** A web server on the machine, and what curl on the admin's says of its answers. */
async function side(fixture: Fixture, member: Member, cluster: string, mib: number): Promise<Side> {
  const program = join(member.machine.directory, 'web.mjs');
  await writeFile(
    program,
    `import { createServer } from 'node:http';
const body = Buffer.alloc(${mib} * 1_048_576);
const server = createServer((request, response) => response.end(request.url === '/large' ? body : 'x'));
server.listen(${WEB_PORT}, '127.0.0.1', () => console.log('listens'));
`,
  );
  const web = member.machine.spawn(process.execPath, [program]);
  await until('the web server', () => web.output.includes('listens'));
  const ask = async (path: string): Promise<{ readonly seconds: number; readonly firstByte: number }> => {
    const { stdout } = await fixture.host.run('curl', [
      '-sS',
      '--max-time',
      '120',
      '-o',
      '/dev/null',
      '-w',
      '%{time_total} %{time_starttransfer} %{http_code}',
      '-x',
      `http://127.0.0.1:${PROXY_PORT}`,
      '-U',
      `_:${FLEET_KEYS.PROXY_KEY}`,
      `http://${nodeName(member, cluster)}:${WEB_PORT}${path}`,
    ]);
    const [seconds, firstByte, status] = stdout.split(' ').map(Number);
    if (status !== 200 || seconds === undefined || firstByte === undefined) throw new Error(`the proxy says ${stdout}`);
    return { seconds, firstByte };
  };
  return {
    name: cluster,
    async run() {
      const asked: number[] = [];
      for (let one = 0; one < ASKED; one += 1) asked.push((await ask('/small')).firstByte * 1_000);
      const { seconds } = await ask('/large');
      return {
        seconds,
        readings: { mbit_per_s: (mib * 1_048_576 * 8) / 1e6 / seconds, first_byte_ms: quantile(asked, 0.5) },
      };
    },
  };
}
