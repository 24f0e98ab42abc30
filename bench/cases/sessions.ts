/**
 * `sessions`: how fast a fleet connects, what an idle node costs, what an idle fleet writes, and what a kill of the
 * admin loses.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { startBenchServer, withClient, type BenchServer, type DatabasePlace } from '../fleet/database.ts';
import { startFloor } from '../floor/contestant.ts';
import { awaitCalm, readCpuTimes, spareBetween } from '../method/machine.ts';
import { cpuMs, rssBytes } from '../method/usage.ts';
import type { Finding } from '../method/report.ts';
import { startAdmin, type AdminProcess } from '../product/admin.ts';
import type { Inspector } from '../product/inspector.ts';
import { startProduct, type Product } from '../product/contestant.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 10_000;

/** How long the fleet is left alone before its memory and writes are read, in s. */
const IDLE_SECONDS = 30;

/** Rest after the storm of connections, in ms: what it left to be stored is stored then. */
const REST_MS = 5_000;

/** Fan-outs before memory is read a second time. */
const FANOUTS = 3;

/** Longest wait for everything to be back after a kill, in ms. */
const RETURN_MS_MAX = 60_000;

/** Targets. Source: docs/performance.md. */
const CONNECTS_PER_SECOND_MIN = 4_000;
const IDLE_KIB_MAX = 24;
const RETURN_SECONDS_MAX = 6;

/** What a pool of simulated agents says of itself. */
interface Counts {
  readonly live: number;
  readonly confirmed: number;
  readonly executions: number;
  readonly ranTwice: number;
}

/** Runs all four parts on one fleet. */
export async function sessions(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const postgres = await startBenchServer();
  try {
    const calm = await awaitCalm();
    const floor = await startFloor(postgres, nodes);
    const { connectSeconds: floorSeconds, connectCpu: floorCpu } = floor;
    await floor.end();
    options.report.add({
      case: 'connect',
      side: 'floor',
      nodes,
      seconds: floorSeconds,
      per_second: nodes / floorSeconds,
      ratio: null,
      ...floorCpu,
      idle_before: calm.idlePercent,
      verdict: 'none',
    });
    if (options.floorOnly) return;

    const times = readCpuTimes();
    let emptyBytes = 0;
    const product = await startProduct(postgres, nodes, {
      beforeAgents: async (admin) => {
        const inspector = await admin.inspect();
        emptyBytes = await settledRss(inspector, admin.pid);
        inspector.close();
      },
    });
    try {
      const rate = nodes / product.connectSeconds;
      const storedSeconds = product.connectSeconds + (await secondsUntilStored(product.database, nodes));
      options.report.add({
        case: 'connect',
        side: 'product',
        nodes,
        seconds: product.connectSeconds,
        per_second: rate,
        ratio: floorSeconds / product.connectSeconds,
        ...product.connectCpu,
        stored_seconds: storedSeconds,
        idle_before: calm.idlePercent,
        steal: spareBetween(times, readCpuTimes()).stealPercent,
        verdict: verdict(calm.quiet, rate >= CONNECTS_PER_SECOND_MIN),
      });
      for (const finding of await idle(product, nodes, emptyBytes)) options.report.add(finding);
    } finally {
      await product.end();
    }
    options.report.add(await killed(postgres, nodes));
  } finally {
    await postgres.stop();
  }
}

async function idle(product: Product, nodes: number, emptyBytes: number): Promise<Finding[]> {
  const inspector = await product.admin.inspect();
  const perNode = async (): Promise<number> =>
    ((await settledRss(inspector, product.admin.pid)) - emptyBytes) / nodes / 1_024;
  await delay(REST_MS);
  const [writesBefore, cpuBefore, began] = [
    await writes(product.database),
    cpuMs(product.admin.pid),
    performance.now(),
  ];
  await delay(IDLE_SECONDS * 1_000);
  const cpuPercent = ((cpuMs(product.admin.pid) - cpuBefore) / (performance.now() - began)) * 100;
  const after = await writes(product.database);
  const idleKib = await perNode();
  for (let round = 0; round < FANOUTS; round += 1) {
    await product.agents.expect(nodes);
    await product.create(nodes);
    await product.agents.confirmed();
  }
  const usedKib = await perNode();
  inspector.close();
  const delta = (name: 'nodeUpdates' | 'otherWrites' | 'commits') => after[name] - writesBefore[name];
  return [
    {
      case: 'memory',
      side: 'product',
      nodes,
      seconds: 0,
      ratio: null,
      idle_kib_per_node: idleKib,
      used_kib_per_node: usedKib,
      rss_mib: rssBytes(product.admin.pid) / 1_048_576,
      empty_rss_mib: emptyBytes / 1_048_576,
      verdict: verdict(true, idleKib <= IDLE_KIB_MAX),
    },
    {
      case: 'idle-fleet',
      side: 'product',
      nodes,
      seconds: IDLE_SECONDS,
      ratio: null,
      cpu_percent: cpuPercent,
      node_updates: delta('nodeUpdates'),
      other_writes: delta('otherWrites'),
      where: after.where,
      commits: delta('commits'),
      verdict: verdict(true, delta('otherWrites') === 0),
    },
  ];
}

/** Resident memory once all garbage is gone. */
async function settledRss(inspector: Inspector, pid: number): Promise<number> {
  await inspector.collectGarbage();
  await delay(1_000); // freed pages are given back a moment later
  return rssBytes(pid);
}

interface Writes {
  readonly nodeUpdates: number;
  readonly otherWrites: number;
  readonly commits: number;
  readonly where: string;
}

/** Rows written so far. Leases and the admin's own heartbeat are no fleet's writes and left out. */
async function writes(place: DatabasePlace): Promise<Writes> {
  await delay(1_200); // backends report what they did once a second
  return withClient(place, async (client) => {
    const {
      rows: [row],
    } = await client.query<Record<'nodes' | 'others' | 'commits' | 'tables', string>>(`
      select (select n_tup_upd from pg_stat_user_tables where relname = 'node') as nodes,
        (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables where relname not in ('node', 'admin', 'cluster_ownership')) as others,
        (select string_agg(relname || ' ' || n, ', ' order by n desc) from (select relname, n_tup_ins + n_tup_upd + n_tup_del as n from pg_stat_user_tables) as t where n > 0) as tables,
        (select xact_commit from pg_stat_database where datname = current_database()) as commits`);
    return {
      nodeUpdates: Number(row?.nodes),
      otherWrites: Number(row?.others),
      commits: Number(row?.commits),
      where: row?.tables ?? '',
    };
  });
}

/**
 * kill -9 of the admin while results of a fan-out come in, then a start on the same place. Agents come back by their
 * own back-off.
 */
async function killed(postgres: BenchServer, nodes: number): Promise<Finding> {
  const product = await startProduct(postgres, nodes, { name: 'killed' });
  let again: AdminProcess | undefined;
  try {
    const calm = await awaitCalm();
    const counts = () => product.agents.worker.ask<Counts>('counts');
    await product.agents.expect(nodes);
    await product.create(nodes);
    await until(async () => (await counts()).confirmed >= nodes / 10);
    await product.admin.kill();
    const atKill = await counts();

    const began = performance.now();
    again = await startAdmin(product.place);
    const startSeconds = again.startSeconds;
    await until(async () => (await counts()).live >= nodes);
    const allLiveSeconds = (performance.now() - began) / 1_000;
    await until(async () => (await completed(product.database)) === nodes);
    const allDoneSeconds = (performance.now() - began) / 1_000;
    const end = await counts();
    const lost = nodes - (await completed(product.database));
    const seconds = Math.max(allLiveSeconds, allDoneSeconds);
    return {
      case: 'kill-9',
      side: 'product',
      nodes,
      seconds,
      ratio: null,
      start_seconds: startSeconds,
      all_live_seconds: allLiveSeconds,
      all_done_seconds: allDoneSeconds,
      confirmed_at_kill: atKill.confirmed,
      lost,
      ran_twice: end.ranTwice,
      idle_before: calm.idlePercent,
      verdict: verdict(calm.quiet, seconds <= RETURN_SECONDS_MAX && lost === 0 && end.ranTwice === 0),
    };
  } finally {
    await product.agents.worker.end();
    await again?.stop();
    await product.admin.kill();
  }
}

function completed(place: DatabasePlace): Promise<number> {
  return withClient(place, async (client) => {
    const {
      rows: [row],
    } = await client.query<{ n: string }>(
      `select count(*) as n from command_execution where status = 'completed' and length(output) = 200`,
    );
    return Number(row?.n);
  });
}

/** Agents are welcomed while their statuses are being stored: how long until all are, in s. */
async function secondsUntilStored(place: DatabasePlace, nodes: number): Promise<number> {
  const began = performance.now();
  await withClient(place, (client) =>
    until(async () => {
      const { rows } = await client.query<{ n: number }>(
        `select count(*)::int as n from node where status = 'healthy'`,
      );
      return rows[0]?.n === nodes;
    }),
  );
  return (performance.now() - began) / 1_000;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (const limit = Date.now() + RETURN_MS_MAX; Date.now() < limit; await delay(20)) if (await isTrue()) return;
  throw new Error(`not within ${RETURN_MS_MAX / 1_000} s`);
}
