/** `failover`: several admins of which one is killed, frozen, ended, added or drained, under calls at all of them. */
import { setTimeout as delay } from 'node:timers/promises';
import { startBenchServer, withClient } from '../fleet/database.ts';
import { clusterNameOf, nodeId } from '../fleet/nodes.ts';
import { callOnce, noCalls, repeated, type CallCounts, type Callers } from '../load/one-retry.ts';
import { awaitCalm } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import { startAdmin } from '../product/admin.ts';
import { startSeveral, state, type NamedAdmin, type SeveralAdmins } from '../product/several.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const ADMINS = 3;
const NODES = 1_000;
const ROUNDS = 200;

/** Each cluster is asked this often whether it is served, and commands are created this often, in ms. */
const PROBE_EVERY_MS = 50;
const COMMAND_EVERY_MS = 50;

/** How long an admin is frozen, in s. */
const FROZEN_SECONDS = 60;

/** What comes after a fault is watched for at least this long, in ms: sessions move after clusters do. */
const WATCH_MS_MIN = 2_000;

/** Target on the tail of a kill, in s. Source: docs/performance.md. */
const KILL_P99_SECONDS_MAX = 5;

/** Times that an agent comes again for one fault. */
const RECONNECTS_MAX = 1;

/** What happens to one of the admins. `isOrderly`: then no call may fail. */
interface Fault {
  readonly isOrderly: boolean;
  /** Resolves when it was done, and the clusters are where they belong then. */
  happen(several: SeveralAdmins, victim: NamedAdmin, seconds: number): Promise<void>;
  /** As before it. */
  undo(several: SeveralAdmins, victim: NamedAdmin): Promise<void>;
}

const without =
  ({ name }: NamedAdmin) =>
  (owners: ReadonlyMap<string, string>): boolean =>
    ![...owners.values()].includes(name);

async function again(several: SeveralAdmins, victim: NamedAdmin): Promise<void> {
  victim.process = await startAdmin(victim.place);
  await several.balanced();
}

const FAULTS: Readonly<Record<string, Fault>> = {
  kill: {
    isOrderly: false,
    async happen(several, victim) {
      victim.process?.signal('SIGKILL');
      await several.owned(without(victim));
      await victim.process?.kill();
      victim.process = null;
    },
    undo: again,
  },
  freeze: {
    isOrderly: false,
    async happen(several, victim, seconds) {
      const untilMs = performance.now() + seconds * 1_000;
      victim.process?.signal('SIGSTOP');
      await several.owned(without(victim));
      await several.allLive();
      await delay(Math.max(0, untilMs - performance.now()));
    },
    async undo(several, victim) {
      victim.process?.signal('SIGCONT');
      await several.balanced();
    },
  },
  term: {
    isOrderly: true,
    async happen(several, victim) {
      const stopped = victim.process?.stop();
      await several.owned(without(victim));
      await stopped;
      victim.process = null;
    },
    undo: again,
  },
  drain: {
    isOrderly: true,
    async happen(several, victim) {
      await victim.process?.http.call('POST', `/admins/${victim.name}/drain`);
      await several.owned(without(victim));
    },
    async undo(several, victim) {
      await victim.process?.http.call('POST', `/admins/${victim.name}/resume`);
      await several.balanced();
    },
  },
  join: {
    isOrderly: true,
    async happen(several, joiner) {
      joiner.process = await startAdmin(joiner.place);
      await several.balanced();
    },
    async undo(several, joiner) {
      await joiner.process?.stop();
      joiner.process = null;
      await several.balanced();
    },
  },
};

/** All faults, or those that are named behind the case. `--seconds`: how long an admin is frozen. */
export async function failover(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const names = options.names.length > 0 ? options.names : Object.keys(FAULTS);
  const unknown = names.find((name) => !(name in FAULTS));
  if (unknown !== undefined) throw new Error(`no fault is called ${unknown}: ${Object.keys(FAULTS).join(', ')}`);
  const postgres = await startBenchServer();
  try {
    for (const name of names) {
      // Anew for each: what one fault left of the clusters' places is not the start of the next.
      const perCluster = Math.max(1, Math.ceil(nodes / CLUSTERS));
      const several = await startSeveral(postgres, {
        name,
        count: options.admins ?? ADMINS,
        nodes,
        perCluster,
      });
      try {
        await faulted(name, FAULTS[name]!, several, { nodes, perCluster, options });
      } finally {
        await several.end();
      }
    }
  } finally {
    await postgres.stop();
  }
}

/** Clusters of the fleet. */
const CLUSTERS = 12;

interface Size {
  readonly nodes: number;
  readonly perCluster: number;
  readonly options: CaseOptions;
}

/** What one round showed. */
interface Round {
  /** Longest time in which some cluster was not served, in s. */
  readonly seconds: number;
  readonly reconnects: Reconnects;
}

interface Reconnects {
  readonly agents: number;
  readonly most: number;
}

async function faulted(name: string, fault: Fault, several: SeveralAdmins, size: Size): Promise<void> {
  const { options, nodes } = size;
  const calm = await awaitCalm();
  const counts = noCalls();
  const created: string[] = [];
  const rounds: Round[] = [];
  await several.agents.ask('expect', 0);
  const joiner = name === 'join' ? await several.add() : null;
  for (let number = 0; number < (options.repeats ?? ROUNDS); number += 1) {
    const victim = joiner ?? (await largest(several));
    await several.allLive();
    await several.agents.ask('reconnects');
    rounds.push(await round(fault, several, victim, size, counts, created));
    await fault.undo(several, victim);
    await several.allLive();
    const { seconds, reconnects } = rounds.at(-1)!;
    options.report.note(
      `${name} ${number + 1}: ${seconds.toFixed(2)} s, ${reconnects.agents} agents came again, ${reconnects.most} times at most, ${counts.failed} of ${counts.calls} calls failed`,
    );
  }
  for (const reason of counts.reasons) options.report.note(reason);
  const { lost, twice } = await checked(several, created);
  const series = rounds.map(({ seconds }) => seconds);
  const reconnectsMost = Math.max(...rounds.map(({ reconnects }) => reconnects.most));
  const isRight =
    lost === 0 && twice === 0 && reconnectsMost <= RECONNECTS_MAX && (!fault.isOrderly || counts.failed === 0);
  options.report.add({
    case: `failover ${name}`,
    side: 'product',
    admins: several.admins.length,
    nodes,
    rounds: rounds.length,
    seconds: quantile(series, 0.5),
    p99: quantile(series, 0.99),
    worst: quantile(series, 1),
    ratio: null,
    calls: counts.calls,
    retried: counts.retried,
    failed: counts.failed,
    commands: created.length,
    lost,
    twice,
    agents_moved: quantile(
      rounds.map(({ reconnects }) => reconnects.agents),
      0.5,
    ),
    reconnects_most: reconnectsMost,
    idle_before: calm.idlePercent,
    verdict: verdict(calm.quiet, isRight && (name !== 'kill' || quantile(series, 0.99) <= KILL_P99_SECONDS_MAX)),
  });
}

/** Calls at all admins, and a fault in the middle of them. */
async function round(
  fault: Fault,
  several: SeveralAdmins,
  victim: NamedAdmin,
  { nodes, perCluster, options }: Size,
  counts: CallCounts,
  created: string[],
): Promise<Round> {
  const callers: Callers = {
    ports: () => several.admins.filter(({ process }) => process !== null).map(({ place }) => place.port),
    masterKey: victim.place.masterKey,
  };
  const served = new Map<string, number[]>();
  const probe = (index: number): { stop(): Promise<void> } =>
    repeated(PROBE_EVERY_MS, async (turn) => {
      // Of those that live on, as a client that knows which one is away would ask.
      const ports = several.admins
        .filter(({ process, name }) => process !== null && name !== victim.name)
        .map(({ place }) => place.port);
      const path = `/nodes/${nodeId(index)}/labels`;
      const done = await callOnce({ ...callers, ports: () => ports }, noCalls(), turn, [
        'PATCH',
        path,
        { labels: { probe: 'yes' } },
      ]);
      if (done === undefined) return;
      const cluster = clusterNameOf(index, perCluster);
      served.set(cluster, [...(served.get(cluster) ?? []), performance.now()]);
    });
  const clusters = Array.from({ length: Math.ceil(nodes / perCluster) }, (_none, place) => place * perCluster);
  const load = repeated(COMMAND_EVERY_MS, async (turn) => {
    const node = nodeId(Math.floor(Math.random() * nodes));
    const command = await callOnce(callers, counts, turn, [
      'POST',
      '/commands',
      { command_text: 'true', targeting: { type: 'nodes', node_ids: [node] } },
    ]);
    if (command !== undefined) created.push((command as { readonly id: string }).id);
  });
  const probes = clusters.map(probe);
  await state('that each cluster is served', () => Promise.resolve(served.size === clusters.length));
  const beganMs = performance.now();
  await fault.happen(several, victim, options.seconds ?? FROZEN_SECONDS);
  await several.allLive();
  await delay(Math.max(0, beganMs + WATCH_MS_MIN - performance.now()));
  await Promise.all([...probes, load].map((one) => one.stop()));
  return {
    seconds: Math.max(...[...served.values()].map((atMs) => longestGap(atMs, beganMs))) / 1_000,
    reconnects: await several.agents.ask<Reconnects>('reconnects'),
  };
}

/** The longest time from one answer to the next, from the fault on, in ms. */
function longestGap(atMs: readonly number[], beganMs: number): number {
  const after = [beganMs, ...atMs.filter((one) => one > beganMs).toSorted((one, other) => one - other)];
  return Math.max(...after.slice(1).map((one, index) => one - (after[index] ?? one)));
}

/** The admin that owns most: what happens to it is felt. */
async function largest(several: SeveralAdmins): Promise<NamedAdmin> {
  const owners = [...(await several.owners()).values()];
  const countOf = ({ name }: NamedAdmin): number => owners.filter((owner) => owner === name).length;
  const [found] = several.admins.toSorted((one, other) => countOf(other) - countOf(one));
  if (found === undefined) throw new Error('there is no admin');
  return found;
}

/** Commands that were acknowledged and have no completed execution, and executions that were started twice. */
async function checked(
  several: SeveralAdmins,
  created: readonly string[],
): Promise<{ readonly lost: number; readonly twice: number }> {
  const unfinished = (): Promise<number> =>
    withClient(several.database, async (client) => {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from unnest($1::uuid[]) as asked(id)
        where (select count(*) from command_execution e where e.command_id = asked.id and e.status = 'completed') <> 1`,
        [created],
      );
      return rows[0]?.count ?? -1;
    });
  await state('the end of all commands', async () => (await unfinished()) === 0).catch((error: Error) =>
    process.stdout.write(`${error.message}: what is open still counts as lost\n`),
  );
  return { lost: await unfinished(), twice: (await several.agents.ask<{ ranTwice: number }>('counts')).ranTwice };
}
