/**
 * `scale agents`: a fleet that no single admin holds, with all of its agents connected: how long that takes, what it
 * costs while nothing happens, one command to all, a page of a list, and one admin that is killed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { NODES_PER_CLUSTER } from '../fleet/nodes.ts';
import { startBenchServer, type BenchServer } from '../fleet/database.ts';
import { verifyFanout } from '../fleet/verification.ts';
import { quantile } from '../method/statistics.ts';
import { cpuMs, rssBytes, treeCpuMs } from '../method/usage.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { startGroup, state, type AdminGroup, type NamedAdmin } from '../product/several.ts';
import type { CaseOptions } from './options.ts';

/** Each of as many admins, and each process of agents, may have 20,000 open files here. */
const ADMINS = 8;
const NODES = 100_000;

/** Agents dial at once in each process. */
const DIALS_AT_ONCE = 32;

/** How long an idle fleet is looked at, in s. */
const IDLE_SECONDS = 60;

/** What else is asked, so often. */
const REPEATS = 30;

/** Bytes of each output. Source: product/simulated-agent.ts. */
const OUTPUT_BYTES = 200;

const MIB = 1_048_576;

/** `--nodes` and `--admins` make it smaller. */
export async function scaleAgents(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const count = options.admins ?? ADMINS;
  const postgres = await startBenchServer();
  const pools: Worker[] = [];
  let group: AdminGroup | undefined;
  try {
    group = await startGroup(postgres, { name: 'scale', count, nodes, perCluster: NODES_PER_CLUSTER });
    const add = (act: string, figures: Readonly<Record<string, number>>): void =>
      options.report.add({
        case: 'scale agents',
        side: act,
        nodes,
        admins: count,
        seconds: Number.NaN,
        ratio: null,
        ...figures,
        verdict: 'none',
      });
    await balanced(group);
    for (let pool = 0; pool < count; pool += 1) pools.push(await startWorker(AGENTS));
    add('connected', { seconds: await connected(group, pools, nodes), ...memory(group, pools) });
    add('idle', await idle(group, pools, postgres, options.seconds ?? IDLE_SECONDS));
    add('one command to all', await commanded(group, pools, nodes));
    add('a page of 100 nodes', await listed(group));
    add('an admin is killed', await killed(group, pools, nodes));
  } finally {
    await Promise.all(pools.map((pool) => pool.end()));
    await group?.end();
    await postgres.stop();
  }
}

const AGENTS = new URL('../product/agents.ts', import.meta.url);

/** Nobody has more than a tenth above its share: capacity and open files allow for that. */
async function balanced(group: AdminGroup): Promise<void> {
  await group.owned((owners) => {
    const counts = group.admins.map(({ name }) => [...owners.values()].filter((owner) => owner === name).length);
    return Math.max(...counts) <= (1.1 * owners.size) / group.admins.length;
  });
}

/** From the first dial to the last session at its owner, in s. */
async function connected({ admins }: AdminGroup, pools: readonly Worker[], nodes: number): Promise<number> {
  const began = performance.now();
  const share = Math.ceil(nodes / pools.length);
  const ports = admins.map(({ place }) => place.port);
  await Promise.all(
    pools.map((pool, index) =>
      pool.ask('connect', {
        ports,
        from: index * share,
        nodes: Math.min(nodes, (index + 1) * share),
        atOnce: DIALS_AT_ONCE,
      }),
    ),
  );
  await allLive(pools, nodes);
  return (performance.now() - began) / 1_000;
}

async function allLive(pools: readonly Worker[], nodes: number): Promise<void> {
  await state('all agents', async () => {
    const counts = await Promise.all(pools.map((pool) => pool.ask<{ live: number }>('counts')));
    return counts.reduce((sum, { live }) => sum + live, 0) === nodes;
  });
}

const running = ({ admins }: AdminGroup) => admins.flatMap(({ process }) => process ?? []);

function memory(group: AdminGroup, pools: readonly Worker[]): Readonly<Record<string, number>> {
  const rss = running(group).map(({ pid }) => rssBytes(pid) / MIB);
  return {
    admin_rss_mib_most: Math.max(...rss),
    admins_rss_mib: rss.reduce((sum, one) => sum + one, 0),
    agents_rss_mib: pools.reduce((sum, { pid }) => sum + rssBytes(pid) / MIB, 0),
  };
}

/** Processor time of each part while nothing happens, in percent of one core. */
async function idle(
  group: AdminGroup,
  pools: readonly Worker[],
  postgres: BenchServer,
  seconds: number,
): Promise<Readonly<Record<string, number>>> {
  const read = (): readonly number[] => [
    ...[running(group), pools].map((some) => some.reduce((sum, { pid }) => sum + cpuMs(pid), 0)),
    treeCpuMs(postgres.pid),
  ];
  const before = read();
  await delay(seconds * 1_000);
  const [admins = 0, agents = 0, database = 0] = read().map((ms, index) => (ms - (before[index] ?? 0)) / seconds / 10);
  return { admins_percent: admins, agents_percent: agents, postgres_percent: database, ...memory(group, pools) };
}

/** One command to every node: until its last result is confirmed to its agent, in s. */
async function commanded(
  group: AdminGroup,
  pools: readonly Worker[],
  nodes: number,
): Promise<Readonly<Record<string, number>>> {
  const share = Math.ceil(nodes / pools.length);
  await Promise.all(
    pools.map((pool, index) => pool.ask('expect', Math.min(nodes, (index + 1) * share) - index * share)),
  );
  const began = performance.now();
  await running(group)[0]?.http.call('POST', '/commands', { command_text: 'true', targeting: { type: 'all' } });
  const createdMs = performance.now() - began;
  await Promise.all(pools.map((pool) => pool.ask('confirmed')));
  const seconds = (performance.now() - began) / 1_000;
  await verifyFanout(group.database, nodes, OUTPUT_BYTES);
  return { seconds, created_ms: createdMs, per_second: nodes / seconds };
}

async function listed(group: AdminGroup): Promise<Readonly<Record<string, number>>> {
  const series: number[] = [];
  for (let one = 0; one < REPEATS; one += 1) {
    const began = performance.now();
    await running(group)[0]?.http.call('GET', `/nodes?page=${one * 30 + 1}&page_size=100`);
    series.push((performance.now() - began) / 1_000);
  }
  return { seconds: quantile(series, 0.5), p99: quantile(series, 0.99) };
}

/** The admin that owns most, until each cluster has an owner again, and each agent a session; in s. */
async function killed(
  group: AdminGroup,
  pools: readonly Worker[],
  nodes: number,
): Promise<Readonly<Record<string, number>>> {
  const victim = group.admins[0] as NamedAdmin;
  const began = performance.now();
  victim.process?.signal('SIGKILL');
  await group.owned((owners) => ![...owners.values()].includes(victim.name));
  const seconds = (performance.now() - began) / 1_000;
  await victim.process?.kill();
  victim.process = null;
  await allLive(pools, nodes);
  return { seconds, agents_back_seconds: (performance.now() - began) / 1_000 };
}
