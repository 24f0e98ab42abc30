/**
 * `failover`: several admins of which one is killed, frozen, ended, added or drained, under calls at all of them: such
 * as any admin does, and such as only the owner of a cluster does.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { startBenchServer, withClient } from '../fleet/database.ts';
import { clusterNameOf, nodeId } from '../fleet/nodes.ts';
import { callOnce, noCalls, repeated, type CallCounts, type Callers } from '../load/one-retry.ts';
import { awaitCalm } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import { startSeveral, state, type NamedAdmin, type SeveralAdmins } from '../product/several.ts';
import { FAULTS, type Fault } from './failover-faults.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const ADMINS = 3;
const NODES = 1_000;
const ROUNDS = 200;

/** Each cluster is asked this often whether it is served, in ms. */
const PROBE_EVERY_MS = 50;

/** Commands are created this often, and nodes labelled, at all admins in turn, in ms. */
const CALL_EVERY_MS = 50;

/** How long an admin is frozen, in s. */
const FROZEN_SECONDS = 60;

/** What comes after a fault is watched for at least this long, in ms: sessions move after clusters do. */
const WATCH_MS_MIN = 2_000;

/** Target on the tail of a kill, in s. Source: docs/performance.md. */
const KILL_P99_SECONDS_MAX = 5;

/** Times that an agent comes again for one fault. */
const RECONNECTS_MAX = 1;

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

/** Calls of all rounds. */
interface Called {
  /** Creates of commands, which any admin does. */
  readonly anywhere: CallCounts;
  /** Labels of nodes, which the owner of their cluster does. */
  readonly atOwners: CallCounts;
  /** Commands that were acknowledged. */
  readonly created: string[];
}

interface Reconnects {
  readonly agents: number;
  readonly most: number;
}

async function faulted(name: string, fault: Fault, several: SeveralAdmins, size: Size): Promise<void> {
  const { options, nodes } = size;
  const calm = await awaitCalm();
  const called: Called = { anywhere: noCalls(), atOwners: noCalls(), created: [] };
  const { anywhere, atOwners, created } = called;
  const rounds: Round[] = [];
  await several.agents.ask('expect', 0);
  const joiner = name === 'join' ? await several.add() : null;
  for (let number = 0; number < (options.repeats ?? ROUNDS); number += 1) {
    const victim = joiner ?? (await largest(several));
    await several.allLive();
    await several.agents.ask('reconnects');
    rounds.push(await round(fault, several, victim, size, called));
    await fault.undo(several, victim);
    await several.allLive();
    const { seconds, reconnects } = rounds.at(-1)!;
    options.report.note(
      `${name} ${number + 1}: ${seconds.toFixed(2)} s, ${reconnects.agents} agents came again, ${reconnects.most} times at most, ${failedOf(anywhere)} calls failed, ${failedOf(atOwners)} of those for owners`,
    );
  }
  for (const reason of [...anywhere.reasons, ...atOwners.reasons]) options.report.note(reason);
  const { lost, twice } = await checked(several, created);
  const series = rounds.map(({ seconds }) => seconds);
  const reconnectsMost = Math.max(...rounds.map(({ reconnects }) => reconnects.most));
  const failed = anywhere.failed + atOwners.failed;
  const isRight = lost === 0 && twice === 0 && reconnectsMost <= RECONNECTS_MAX && (!fault.isOrderly || failed === 0);
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
    calls: anywhere.calls,
    retried: anywhere.retried,
    failed: anywhere.failed,
    owner_calls: atOwners.calls,
    owner_retried: atOwners.retried,
    owner_failed: atOwners.failed,
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
  size: Size,
  called: Called,
): Promise<Round> {
  const { nodes, perCluster, options } = size;
  const served = new Map<string, number[]>();
  const clusters = Array.from({ length: Math.ceil(nodes / perCluster) }, (_none, place) => place * perCluster);
  const running = [
    ...clusters.map((index) =>
      probes(several, victim, called, index, () => {
        const cluster = clusterNameOf(index, perCluster);
        served.set(cluster, [...(served.get(cluster) ?? []), performance.now()]);
      }),
    ),
    ...calls(several, victim, called, nodes),
  ];
  await state('that each cluster is served', () => Promise.resolve(served.size === clusters.length));
  const beganMs = performance.now();
  await fault.happen(several, victim, options.seconds ?? FROZEN_SECONDS);
  await several.allLive();
  await delay(Math.max(0, beganMs + WATCH_MS_MIN - performance.now()));
  await Promise.all(running.map((one) => one.stop()));
  return {
    seconds: Math.max(...[...served.values()].map((atMs) => longestGap(atMs, beganMs))) / 1_000,
    reconnects: await several.agents.ask<Reconnects>('reconnects'),
  };
}

/** Asks for the owner of a node at the admins that live on, as a client that knows which one is away would. */
function probes(
  { admins }: SeveralAdmins,
  victim: NamedAdmin,
  { atOwners }: Called,
  index: number,
  served: () => void,
): Repeated {
  const others = callersOf(
    admins.filter(({ name }) => name !== victim.name),
    victim,
  );
  return repeated(PROBE_EVERY_MS, async (turn) => {
    const done = await callOnce(others, atOwners, turn, labelled(index, turn));
    if (done !== undefined) served();
  });
}

/** Clients that know nothing of the fault, and ask all admins in turn. */
function calls(
  { admins }: SeveralAdmins,
  victim: NamedAdmin,
  { anywhere, atOwners, created }: Called,
  nodes: number,
): readonly Repeated[] {
  const all = callersOf(admins, victim);
  const anyNode = (): number => Math.floor(Math.random() * nodes);
  return [
    repeated(CALL_EVERY_MS, async (turn) => {
      const targeting = { type: 'nodes', node_ids: [nodeId(anyNode())] };
      const command = await callOnce(all, anywhere, turn, ['POST', '/commands', { command_text: 'true', targeting }]);
      if (command !== undefined) created.push((command as { readonly id: string }).id);
    }),
    repeated(CALL_EVERY_MS, async (turn) => {
      await callOnce(all, atOwners, turn, labelled(anyNode(), turn));
    }),
  ];
}

type Repeated = ReturnType<typeof repeated>;

/** A write that only the owner of a node does. */
function labelled(index: number, turn: number): readonly [string, string, object] {
  return ['PATCH', `/nodes/${nodeId(index)}/labels`, { labels: { probe: `${turn}` } }];
}

/** Those that run, also one that is frozen. */
function callersOf(admins: readonly NamedAdmin[], { place: { masterKey } }: NamedAdmin): Callers {
  return {
    ports: () => admins.filter(({ process }) => process !== null).map(({ place }) => place.port),
    masterKey,
  };
}

function failedOf({ failed, calls: all }: CallCounts): string {
  return `${failed} of ${all}`;
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
