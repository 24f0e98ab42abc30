/**
 * `tunnel`: bytes to a machine and from it. Through admin and agent beside bare WebSockets and `ssh -W`; through the
 * agent's own proxy beside microsocks.
 */
import { startBenchServer } from '../fleet/database.ts';
import { freePort } from '../fleet/ports.ts';
import { buildLoad, type Direction, type Load, type Route } from '../load/program.ts';
import { interleave, type Sample, type Side } from '../method/interleave.ts';
import { cpuMs, cpuWithChildrenMs } from '../method/usage.ts';
import { startWorker } from '../method/worker.ts';
import { startMicrosocks } from '../peers/microsocks.ts';
import { findProgram, missingPackages } from '../peers/programs.ts';
import { startSshFleet } from '../peers/ssh-fleet.ts';
import { profileReach, startReachProduct, type ReachProduct } from '../product/reach.ts';
import { createScope } from '../../test/support/scope.ts';
import { compare, verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Streams at once. Source: docs/performance.md. */
const STREAMS = [1, 64] as const;
const DIRECTIONS: readonly Direction[] = ['down', 'up'];

/** Bytes of one transfer, all of its streams together, in MiB. */
const MIB = 512;
const REPEATS = 5;

/** Targets. Source: docs/performance.md. Of the floor, and of each peer. */
const FLOOR_RATIO_MIN = 0.5;
const PEER_RATIO_MIN = 0.7;

/** For `ssh -W`: what both ends of OpenSSH do fastest. Ours has no cipher on loopback, where the admin has no TLS. */
const CIPHER = 'aes128-gcm@openssh.com';

type Scope = ReturnType<typeof createScope>;
interface Fixture {
  readonly load: Load;
  readonly origin: Awaited<ReturnType<Load['origin']>>;
  readonly product: ReachProduct | undefined;
  readonly scope: Scope;
}
type RouteOf = (streams: number) => Route;

/**
 * Both parts, or the one that is named behind the case: `through` the admin, or `direct` at the agent's proxy. `--mib`
 * sets the size of a transfer.
 */
export async function tunnel(options: CaseOptions): Promise<void> {
  const missing = await missingPackages(options.install, ['microsocks', 'ssh', 'sshd', 'cc']);
  if (missing.length > 0)
    options.report.note(`not installed, so not measured: ${missing.join(' ')} (--install installs them with apt)`);
  const scope = createScope();
  try {
    const load = await buildLoad();
    const origin = await load.origin();
    scope.teardown(() => origin.end());
    const postgres = await startBenchServer();
    scope.teardown(() => postgres.stop());
    const product = options.floorOnly ? undefined : await startReachProduct(postgres);
    scope.teardown(() => product?.end());
    const fixture = { load, origin, product, scope };
    if (isWanted(options, 'through')) await through(fixture, options);
    if (isWanted(options, 'direct')) await direct(fixture, options);
  } finally {
    await scope.end();
  }
}

function isWanted({ names }: CaseOptions, part: string): boolean {
  return names.length === 0 || names.includes(part);
}

async function through(fixture: Fixture, options: CaseOptions): Promise<void> {
  const { origin, product, scope } = fixture;
  const front = await startWorker(new URL('../floor/relay.ts', import.meta.url));
  scope.teardown(() => front.end());
  const back = await startWorker(new URL('../floor/relay.ts', import.meta.url));
  scope.teardown(() => back.end());
  const ports = await front.ask<{ clients: number; bridges: number }>('front');
  await back.ask('back', { bridges: ports.bridges, target: origin.port });
  const contestants = [contestant(fixture, 'floor', () => ['direct', ports.clients], [front.pid, back.pid])];
  if (product !== undefined) {
    const { admin, agent, optimizing } = product;
    contestants.push(contestant(fixture, 'product', () => product.through(agent, origin.port), [admin.pid, agent.pid]));
    contestants.push(
      contestant(fixture, 'optimizing agent', () => product.through(optimizing, origin.port), [
        admin.pid,
        optimizing.pid,
      ]),
    );
  }
  const jump = await sshRoute(fixture, options);
  if (jump !== undefined) contestants.push(contestant(fixture, 'ssh -W', jump, []));
  await contest(fixture, 'tunnel through', contestants, 'floor', FLOOR_RATIO_MIN, options);
}

/** One stream has a connection of its own; many share one, as ours do. */
async function sshRoute({ origin, scope }: Fixture, { report }: CaseOptions): Promise<RouteOf | undefined> {
  const [sshd, ssh] = [await findProgram('sshd'), await findProgram('ssh')];
  if (sshd === undefined || ssh === undefined || process.getuid?.() !== 0) {
    report.note('ssh -W needs root, ssh and sshd: it is left out');
    return undefined;
  }
  const fleet = await startSshFleet(sshd, await freePort(), 1);
  scope.teardown(() => fleet.end());
  return (streams) => [
    'command',
    ssh,
    '-F',
    streams === 1 ? fleet.coldConfig : fleet.warmConfig,
    '-o',
    `Ciphers=${CIPHER}`,
    '-W',
    `127.0.0.1:${origin.port}`,
    'n1',
  ];
}

async function direct(fixture: Fixture, options: CaseOptions): Promise<void> {
  const { origin, product, scope } = fixture;
  const contestants = [];
  const program = await findProgram('microsocks');
  if (program !== undefined) {
    const peer = await startMicrosocks(program);
    scope.teardown(() => peer.end());
    contestants.push(contestant(fixture, 'microsocks', () => peer.route(origin.port), [peer.pid]));
  }
  if (product !== undefined) {
    for (const [name, agent] of [
      ['product', product.agent],
      ['optimizing agent', product.optimizing],
    ] as const) {
      contestants.push(contestant(fixture, name, () => product.direct(agent, origin.port), [agent.pid]));
    }
  }
  await contest(fixture, 'tunnel direct', contestants, 'microsocks', PEER_RATIO_MIN, options);
}

interface Contestant {
  readonly name: string;
  readonly pids: readonly number[];
  transfer(streams: number, bytes: number, direction: Direction): Promise<Sample>;
}

/** `pids`: what carries the bytes, from the client to the target. */
function contestant({ load, origin }: Fixture, name: string, routeOf: RouteOf, pids: readonly number[]): Contestant {
  return {
    name,
    pids,
    async transfer(streams, bytes, direction) {
      const [before, originBefore] = [pids.map(cpuWithChildrenMs), cpuMs(origin.pid)];
      const { seconds, openSeconds, clientCpuMs } = await load.transfer(streams, bytes, direction, routeOf(streams));
      const used = pids.map((pid, index) => cpuWithChildrenMs(pid) - (before[index] ?? 0));
      return {
        seconds,
        readings: {
          mib_per_s: (bytes * streams) / 1_048_576 / seconds,
          open_ms: openSeconds * 1_000,
          ...(used.length > 0 && { cpu_ms: used.reduce((sum, ms) => sum + ms, 0) }),
          ...(used.length > 1 && { near_cpu_ms: used[0] ?? 0, far_cpu_ms: used[1] ?? 0 }),
          load_cpu_ms: clientCpuMs + cpuMs(origin.pid) - originBefore,
        },
      };
    },
  };
}

async function contest(
  { product }: Fixture,
  name: string,
  contestants: readonly Contestant[],
  base: string,
  ratioMin: number,
  options: CaseOptions,
): Promise<void> {
  const mib = options.mib ?? MIB;
  for (const streams of STREAMS) {
    const bytes = Math.ceil((mib * 1_048_576) / streams);
    for (const direction of DIRECTIONS) {
      const sides: Side[] = contestants.map((one) => ({
        name: one.name,
        run: () => one.transfer(streams, bytes, direction),
      }));
      const result = await interleave(sides, options.repeats ?? REPEATS);
      const findings = compare(name, { streams, direction, mib }, result, undefined, base);
      const secondsOf = (side: string) => findings.find((finding) => finding.side === side)?.seconds ?? Number.NaN;
      for (const finding of findings) {
        const ofSsh = secondsOf('ssh -W') / finding.seconds;
        const isMet = (finding.ratio ?? 0) >= ratioMin && !(ofSsh < PEER_RATIO_MIN);
        options.report.add({
          ...finding,
          ...(Number.isNaN(ofSsh) ? {} : { of_ssh: ofSsh }),
          verdict:
            finding.side === 'product' && finding.ratio !== null ? verdict(result.calmBefore.quiet, isMet) : 'none',
        });
      }
      const ours = contestants.find((one) => one.name === 'product');
      if (ours !== undefined && product !== undefined)
        await profileReach(
          product,
          ours.pids,
          `${name.replace(' ', '-')}-${streams}-${direction}`,
          options.profileDir,
          () => ours.transfer(streams, bytes, direction),
        );
    }
  }
}
