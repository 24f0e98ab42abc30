/**
 * `webhooks`: events to healthy and dead receivers. How many a second beside the bare HTTP client, how late at a steady
 * pace, and what it does to memory.
 */
import { mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { startBenchServer, withClient, type DatabasePlace } from '../fleet/database.ts';
import { awaitCalm } from '../method/machine.ts';
import { cpuMs, rssBytes, treeCpuMs } from '../method/usage.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from '../product/admin.ts';
import { sampleBody, storeEvents } from '../webhooks/events.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Receivers, half of the dead ones refusing and half silent. Source: docs/performance.md. */
const HEALTHY = 20;
const DEAD = 20;
const EVENTS = 10_000;

/** WEBHOOK_CONCURRENCY, on both sides. */
const IN_FLIGHT = 4;

/** Events of the steady part, a second: 1,200 deliveries to healthy receivers. */
const PACE = 60;

/** Targets. Source: docs/performance.md. */
const RATIO_MIN = 0.5;
const P99_MS_MAX = 2_000;
/** Memory at the end of the load over that at its middle, to be called flat. */
const GROWTH_MAX = 1.2;

/** A case that takes longer has hung, in ms. */
const STALL_MS = 600_000;

interface Received {
  readonly received: number;
  readonly duplicates: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  readonly spanSeconds: number;
}
interface Ports {
  readonly healthy: readonly number[];
  readonly refused: readonly number[];
  readonly silent: readonly number[];
}

/**
 * The floor, then the whole load at once, then the same number of events at a steady pace. `--nodes` sets the number of
 * events.
 */
export async function webhooks(options: CaseOptions): Promise<void> {
  const events = options.nodes[0] ?? EVENTS;
  const postgres = await startBenchServer();
  const workers: Worker[] = [];
  let admin: AdminProcess | undefined;
  try {
    const receivers = await startWorker(new URL('../webhooks/receivers.ts', import.meta.url));
    workers.push(receivers);
    const bare = await startWorker(new URL('../webhooks/bare-loop.ts', import.meta.url));
    workers.push(bare);
    const ports = await receivers.ask<Ports>('start', { healthy: HEALTHY, refused: DEAD / 2, silent: DEAD / 2 });
    const database = await postgres.create('webhooks');
    await withClient(database, (client) => storeEvents(client, 1));
    const body = await withClient(database, sampleBody);
    const calm = await awaitCalm();

    const requests = events * HEALTHY;
    await receivers.ask('expect', requests);
    // warms up both sides
    await bare.ask('run', { ports: ports.healthy, requests: Math.ceil(requests / 10), inFlight: IN_FLIGHT, body });
    await receivers.ask('expect', requests);
    const floorSeconds = await bare.ask<number>('run', { ports: ports.healthy, requests, inFlight: IN_FLIGHT, body });
    options.report.add({
      case: 'webhooks',
      side: 'floor',
      events,
      seconds: floorSeconds,
      per_second: requests / floorSeconds,
      ratio: null,
      idle_before: calm.idlePercent,
      verdict: 'none',
    });
    if (options.floorOnly) return;

    admin = await startAdmin(
      await newAdminPlace(database, { WEBHOOK_ALLOW_PRIVATE_IPS: 'true', WEBHOOK_CONCURRENCY: String(IN_FLIGHT) }),
    );
    for (const port of [...ports.healthy, ...ports.refused, ...ports.silent]) {
      await admin.http.call('POST', '/webhooks', {
        url: `http://127.0.0.1:${port}/hook`,
        secret: 'a secret of the bench, 32 characters',
        subscribed_events: ['edge.node.status_changed'],
      });
    }
    const run = { admin, receivers, database, postgresPid: postgres.pid, requests };
    await load(run, Math.ceil(events / 10), Number.POSITIVE_INFINITY); // warms up
    const burst = await profiledLoad(run, events, options);
    options.report.add({
      case: 'webhooks burst',
      side: 'product',
      events,
      seconds: burst.seconds,
      per_second: requests / burst.seconds,
      ratio: floorSeconds / burst.seconds,
      ...burst.figures,
      idle_before: calm.idlePercent,
      verdict: verdict(
        calm.quiet,
        floorSeconds / burst.seconds >= RATIO_MIN && burst.received.duplicates === 0 && burst.growth <= GROWTH_MAX,
      ),
    });
    const steady = await load(run, events, PACE);
    options.report.add({
      case: 'webhooks steady',
      side: 'product',
      events,
      seconds: steady.seconds,
      per_second: requests / steady.seconds,
      ratio: null,
      p50_ms: steady.received.p50Ms,
      p99_ms: steady.received.p99Ms,
      worst_ms: steady.received.worstMs,
      ...steady.figures,
      idle_before: calm.idlePercent,
      verdict: verdict(calm.quiet, steady.received.p99Ms <= P99_MS_MAX && steady.growth <= GROWTH_MAX),
    });
  } finally {
    await admin?.stop();
    for (const worker of workers) await worker.end();
    await postgres.stop();
  }
}

interface Run {
  readonly admin: AdminProcess;
  readonly receivers: Worker;
  readonly database: DatabasePlace;
  readonly postgresPid: number;
}

async function profiledLoad(run: Run, events: number, { profileDir }: CaseOptions): ReturnType<typeof load> {
  if (profileDir === undefined) return load(run, events, Number.POSITIVE_INFINITY);
  await mkdir(profileDir, { recursive: true });
  const inspector = await run.admin.inspect();
  const result = await inspector.profile(`${profileDir}/webhooks.cpuprofile`, () =>
    load(run, events, Number.POSITIVE_INFINITY),
  );
  inspector.close();
  return result;
}

/** Stores the events, all at once or so many a second, and waits until every healthy receiver has each. */
async function load({ admin, receivers, database, postgresPid }: Run, events: number, pace: number) {
  await receivers.ask('expect', events * HEALTHY);
  const cpu = (): number[] => [cpuMs(admin.pid), cpuMs(receivers.pid), treeCpuMs(postgresPid)];
  const before = cpu();
  const memory: number[] = [];
  const watching = setInterval(() => memory.push(rssBytes(admin.pid) / 1_048_576), 500);
  const began = performance.now();
  await withClient(database, async (client) => {
    if (!Number.isFinite(pace)) return storeEvents(client, events);
    for (let stored = 0; stored < events; stored += 1) {
      const early = began + (stored / pace) * 1_000 - performance.now();
      if (early > 0) await delay(early);
      await storeEvents(client, 1);
    }
  });
  const received = await Promise.race([receivers.ask<Received>('received'), stalled(receivers)]);
  const seconds = (performance.now() - began) / 1_000;
  clearInterval(watching);
  const used = cpu().map((ms, index) => ((ms - (before[index] ?? 0)) * 1_000) / (events * HEALTHY));
  const middle = Math.max(...memory.slice(0, Math.ceil(memory.length / 2)));
  const end = Math.max(...memory.slice(Math.ceil(memory.length / 2)));
  return {
    seconds,
    received,
    growth: end / middle,
    figures: {
      duplicates: received.duplicates,
      rss_mib: end,
      rss_growth: end / middle,
      server_cpu_us: used[0] ?? 0,
      receivers_cpu_us: used[1] ?? 0,
      postgres_cpu_us: used[2] ?? 0,
    },
  };
}

async function stalled(receivers: Worker): Promise<never> {
  await delay(STALL_MS, undefined, { ref: false });
  throw new Error(`webhooks: no end after ${STALL_MS / 1_000} s: ${JSON.stringify(await receivers.ask('counts'))}`);
}
