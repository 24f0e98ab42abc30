/**
 * `brokers`: events a second from the outbox through each adapter, until the broker has confirmed them and the
 * channel's cursor is stored, beside the bare client.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createScope } from '../../test/support/scope.ts';
import { BROKER_SERVERS, type BrokerServer } from '../brokers/servers.ts';
import { startBenchServer, withClient, type BenchServer, type DatabasePlace } from '../fleet/database.ts';
import { awaitCalm } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import { cpuMs } from '../method/usage.ts';
import { startWorker } from '../method/worker.ts';
import { newAdminPlace, startAdmin } from '../product/admin.ts';
import { sampleBody, storeEvents } from '../webhooks/events.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const REPEATS = 3;

/** Target. Source: docs/performance.md. */
const RATIO_MIN = 0.5;

/** A run that takes longer has hung, in ms. */
const STALL_MS = 120_000;

/** How often the cursor is looked at, in ms. */
const LOOK_MS = 5;

/** Every adapter in turn, or those that are named behind the case; the bare client and the product take turns. */
export async function brokers(options: CaseOptions): Promise<void> {
  const names = options.names.length > 0 ? options.names : Object.keys(BROKER_SERVERS);
  const postgres = await startBenchServer();
  try {
    for (const name of names) {
      const server = BROKER_SERVERS[name];
      if (server === undefined)
        throw new Error(`there is no broker ${name}: ${Object.keys(BROKER_SERVERS).join(', ')}`);
      await brokerOf(name, server, postgres, options);
    }
  } finally {
    await postgres.stop();
  }
}

async function brokerOf(
  name: string,
  { adapter, client, events, start }: BrokerServer,
  postgres: BenchServer,
  { report, repeats = REPEATS, profileDir }: CaseOptions,
): Promise<void> {
  const scope = createScope();
  try {
    const env = await start(scope);
    const database = await postgres.create(`broker_${name}`);
    await withClient(database, (connection) => storeEvents(connection, 1));
    const text = await withClient(database, sampleBody);
    const admin = await startAdmin(
      await newAdminPlace(database, { EVENT_BROKER_ENABLED: 'true', EVENT_BROKER_ADAPTER: adapter, ...env }),
    );
    scope.teardown(() => admin.stop());
    const bare = await startWorker(new URL('../brokers/bare-loop.ts', import.meta.url));
    scope.teardown(() => bare.end());
    await published(database, Math.ceil(events / 10)); // warms up
    const calm = await awaitCalm();

    const [floor, ours, cpu]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < repeats; round += 1) {
      floor.push(await bare.ask<number>('run', { adapter: client, env, events, text }));
      const before = cpuMs(admin.pid);
      ours.push(await published(database, events));
      cpu.push(((cpuMs(admin.pid) - before) * 1_000) / events);
    }
    if (profileDir !== undefined) {
      const inspector = await admin.inspect();
      await inspector.profile(`${profileDir}/broker-${name}.cpuprofile`, () => published(database, events));
      inspector.close();
    }
    const [floorSeconds, seconds] = [quantile(floor, 0.5), quantile(ours, 0.5)];
    const ratio = floorSeconds / seconds;
    report.add({
      case: 'brokers',
      side: 'floor',
      broker: name,
      events,
      seconds: floorSeconds,
      per_second: events / floorSeconds,
      ratio: null,
      idle_before: calm.idlePercent,
      verdict: 'none',
    });
    report.add({
      case: 'brokers',
      side: 'product',
      broker: name,
      events,
      seconds,
      per_second: events / seconds,
      ratio,
      server_cpu_us: quantile(cpu, 0.5),
      idle_before: calm.idlePercent,
      verdict: verdict(calm.quiet, ratio >= RATIO_MIN),
    });
  } finally {
    await scope.end();
  }
}

/**
 * Stores the events at once; resolves with the seconds from their commit until the channel stands behind the last of
 * them.
 */
async function published(database: DatabasePlace, events: number): Promise<number> {
  return withClient(database, async (client) => {
    await storeEvents(client, events);
    const began = performance.now();
    for (;;) {
      const { rows } = await client.query<{ done: boolean }>(
        `select (c.txid, c.seq) >= (e.txid, e.seq) as done from event_channel c, (select txid, seq from event order by txid desc, seq desc limit 1) e where c.name = 'broker'`,
      );
      if (rows[0]?.done === true) return (performance.now() - began) / 1_000;
      if (performance.now() - began > STALL_MS) throw new Error(`not published within ${STALL_MS / 1_000} s`);
      await delay(LOOK_MS);
    }
  });
}
