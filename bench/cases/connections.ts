/**
 * `connections`: new proxied connections a second beside microsocks, and thousands of open tunnels: what each costs,
 * and that no byte crosses.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createScope } from '../../test/support/scope.ts';
import { startBenchServer } from '../fleet/database.ts';
import { buildLoad, type Load, type Route } from '../load/program.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { awaitCalm } from '../method/machine.ts';
import { cpuWithChildrenMs, rssBytes } from '../method/usage.ts';
import { startWorker } from '../method/worker.ts';
import { startMicrosocks } from '../peers/microsocks.ts';
import { findProgram, missingPackages } from '../peers/programs.ts';
import type { Inspector } from '../product/inspector.ts';
import { profileReach, startReachProduct, type ReachProduct } from '../product/reach.ts';
import { compare, verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Clients at once. Source: the measurements behind the suite. */
const AT_ONCE = [1, 8, 32] as const;

/** Length of one run, in s. */
const SECONDS = 3;
const REPEATS = 5;

/** Of microsocks' rate. Source: docs/performance.md. */
const PEER_RATIO_MIN = 0.7;

/** Open tunnels at once. Source: docs/performance.md. */
const TUNNELS = 2_000;

/** Bytes of each tunnel, each way. */
const TUNNEL_BYTES = 65_536;

/** Rest after a collection, in ms: freed pages are given back a moment later. */
const SETTLE_MS = 1_000;

/** Both parts, or the one that is named behind the case: `rate`, or `open` (`--nodes` sets how many tunnels). */
export async function connections(options: CaseOptions): Promise<void> {
  const missing = await missingPackages(options.install, ['microsocks', 'cc']);
  if (missing.length > 0)
    options.report.note(`not installed, so not measured: ${missing.join(' ')} (--install installs them with apt)`);
  const scope = createScope();
  try {
    const postgres = await startBenchServer();
    scope.teardown(() => postgres.stop());
    const product = await startReachProduct(postgres);
    scope.teardown(() => product.end());
    const isWanted = (part: string): boolean => options.names.length === 0 || options.names.includes(part);
    if (isWanted('rate')) await rate(product, options);
    if (isWanted('open')) await open(product, options);
  } finally {
    await scope.end();
  }
}

async function rate(product: ReachProduct, options: CaseOptions): Promise<void> {
  const scope = createScope();
  try {
    const load = await buildLoad();
    const origin = await load.origin();
    scope.teardown(() => origin.end());
    const program = await findProgram('microsocks');
    const peer = program === undefined ? undefined : await startMicrosocks(program);
    scope.teardown(() => peer?.end());
    const { admin, agent, optimizing } = product;
    const contestants: Contestant[] = [
      ...(peer === undefined ? [] : [{ name: 'microsocks', pids: [peer.pid], route: peer.route(origin.port) }]),
      { name: 'agent', pids: [agent.pid], route: product.direct(agent, origin.port) },
      { name: 'optimizing agent', pids: [optimizing.pid], route: product.direct(optimizing, origin.port) },
      { name: 'through admin', pids: [admin.pid, agent.pid], route: product.through(agent, origin.port) },
      {
        name: 'through admin, optimizing agent',
        pids: [admin.pid, optimizing.pid],
        route: product.through(optimizing, origin.port),
      },
    ];
    for (const atOnce of AT_ONCE) {
      const seconds = options.seconds ?? SECONDS;
      const sides = contestants.map((one): Side => ({
        name: one.name,
        run: () => connect(load, one, atOnce, seconds),
      }));
      const result = await interleave(sides, options.repeats ?? REPEATS);
      for (const finding of compare('connections', { at_once: atOnce }, result, undefined, 'microsocks')) {
        const isJudged = finding.side === 'agent' && finding.ratio !== null;
        options.report.add({
          ...finding,
          verdict: isJudged ? verdict(result.calmBefore.quiet, (finding.ratio ?? 0) >= PEER_RATIO_MIN) : 'none',
        });
      }
      for (const one of contestants) {
        if (one.name === 'agent' || one.name === 'through admin')
          await profileReach(
            product,
            one.pids,
            `connections-${one.name.replace(' ', '-')}-${atOnce}`,
            options.profileDir,
            () => connect(load, one, atOnce, seconds),
          );
      }
    }
  } finally {
    await scope.end();
  }
}

interface Contestant {
  readonly name: string;
  readonly pids: readonly number[];
  readonly route: Route;
}

/** `seconds` of a sample are those of one connection: its reciprocal is the rate. */
async function connect(load: Load, { pids, route }: Contestant, atOnce: number, seconds: number) {
  const before = pids.map(cpuWithChildrenMs);
  const { count, failures, seconds: took, p50Ms, p99Ms, clientCpuMs } = await load.connections(atOnce, seconds, route);
  const used = pids.map((pid, index) => (cpuWithChildrenMs(pid) - (before[index] ?? 0)) / count);
  return {
    seconds: took / count,
    readings: {
      per_second: count / took,
      p50_ms: p50Ms,
      p99_ms: p99Ms,
      failures,
      cpu_ms: used.reduce((sum, ms) => sum + ms, 0),
      near_cpu_us: (used[0] ?? 0) * 1_000,
      ...(used.length > 1 && { far_cpu_us: (used[1] ?? 0) * 1_000 }),
      client_cpu_us: (clientCpuMs * 1_000) / count,
    },
  };
}

/**
 * Opens the tunnels through the admin, looks at its memory and the agent's, then moves bytes in all of them at once.
 */
async function open(product: ReachProduct, options: CaseOptions): Promise<void> {
  const { admin, agent } = product;
  const count = options.nodes[0] ?? TUNNELS;
  const scope = createScope();
  try {
    const target = await startWorker(new URL('../load/crossing.ts', import.meta.url));
    scope.teardown(() => target.end());
    const clients = await startWorker(new URL('../load/crossing.ts', import.meta.url));
    scope.teardown(() => clients.end());
    const [, port, user, password, host, targetPort] = product.through(
      agent,
      await target.ask<number>('listen'),
    ) as Extract<Route, readonly ['socks5', ...unknown[]]>;
    const route = { port, user, password, host, target: targetPort };
    const inspectors = [await admin.inspect(), await agent.inspect()] as const;
    scope.teardown(() => {
      for (const inspector of inspectors) inspector.close();
    }); // while one is open, its process does not end
    const adminMemory = memoryOf(inspectors[0], admin.pid);
    const agentMemory = memoryOf(inspectors[1], agent.pid);

    await clients.ask('open', { count: 1, route }); // the tunnel itself, and code that is loaded with the first
    await clients.ask('exchange', TUNNEL_BYTES);
    const calm = await awaitCalm();
    const empty = [await adminMemory(), await agentMemory()];
    const began = performance.now();
    await clients.ask('open', { count: count - 1, route });
    const openSeconds = (performance.now() - began) / 1_000;
    const idle = [await adminMemory(), await agentMemory()];
    const exchangeBegan = performance.now();
    const crossed = await clients.ask<number>('exchange', TUNNEL_BYTES);
    const seconds = (performance.now() - exchangeBegan) / 1_000;
    const peakMib = [rssBytes(admin.pid), rssBytes(agent.pid)].map((bytes) => bytes / 1_048_576);
    const used = [await adminMemory(), await agentMemory()];
    await clients.ask('close');
    for (const [index, side] of ['admin', 'agent'].entries()) {
      const kib = (memories: readonly Memory[], kind: keyof Memory) =>
        ((memories[index]?.[kind] ?? 0) - (empty[index]?.[kind] ?? 0)) / count / 1_024;
      options.report.add({
        case: 'open tunnels',
        side,
        tunnels: count,
        seconds,
        ratio: null,
        open_seconds: openSeconds,
        idle_kib_each: kib(idle, 'rss'),
        idle_held_kib_each: kib(idle, 'held'),
        used_kib_each: kib(used, 'rss'),
        used_held_kib_each: kib(used, 'held'),
        empty_rss_mib: (empty[index]?.rss ?? 0) / 1_048_576,
        rss_mib_under_load: peakMib[index] ?? null,
        bytes_each_way: TUNNEL_BYTES,
        crossed,
        idle_before: calm.idlePercent,
        verdict: crossed === 0 ? 'met' : 'missed', // bytes cross or not on a busy machine as well
      });
    }
  } finally {
    await scope.end();
  }
}

/** Bytes: resident, and of living objects. */
interface Memory {
  readonly rss: number;
  readonly held: number;
}

function memoryOf(inspector: Inspector, pid: number): () => Promise<Memory> {
  return async () => {
    await inspector.collectGarbage();
    await delay(SETTLE_MS);
    return { rss: rssBytes(pid), held: await inspector.heldBytes() };
  };
}
