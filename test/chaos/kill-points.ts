/**
 * The moments at which processes are killed, one function each. Each leaves the world as it fell; recovering is the
 * world's.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdminProgram } from '../support/fleet/admin-program.ts';
import { processesWith } from '../support/fleet/agent-program.ts';
import { until } from '../support/until.ts';
import { holdCommit, holdTable, type CommitHold } from './commit-hold.ts';
import type { Frame, Held } from './wire.ts';
import type { Attempt } from './books.ts';
import { TIMEOUT_MS, type ScriptKind, type World } from './world.ts';

/** A moment, in words, and what is done then. */
export interface KillPoint {
  readonly name: string;
  readonly strike: (world: World) => Promise<void>;
}

/** How long a frame or a commit is waited for, in ms; when none comes the point is not reached, which is an error. */
const CAUGHT_MS_MAX = 15_000;

/** Longest pause of a random moment, in ms: a quick command is over by then. */
const MOMENT_MS_MAX = 250;

/** Every point at which a single kill of an admin or an agent is aimed. */
export const KILL_POINTS: readonly KillPoint[] = [
  {
    name: 'admin, at a create, before anything of it is written',
    strike: (world) => adminInTransaction(world, holdTable(world.postgres.connection, 'command')),
  },
  {
    name: 'admin, at a create, in its commit',
    strike: (world) => adminInTransaction(world, holdCommit(world.postgres.connection, 'command-created')),
  },
  { name: 'admin, at a create, behind its commit', strike: (world) => adminAtFrame(world, 'deliver') },
  { name: 'admin, at a create that its client asks for again', strike: askedAgain },
  {
    name: 'admin, between the journal of the agent and its acknowledgement',
    strike: (world) => adminAtFrame(world, 'acknowledge'),
  },
  {
    name: 'admin, in the commit of sent',
    strike: (world) => adminInTransaction(world, holdCommit(world.postgres.connection, 'execution-sent'), 'slow'),
  },
  { name: 'admin, as a result comes', strike: (world) => adminAtFrame(world, 'result') },
  { name: 'admin, between a result and its events', strike: adminBeforeEvents },
  {
    name: 'admin, in the commit of a result',
    strike: (world) => adminInTransaction(world, holdCommit(world.postgres.connection, 'execution-finished')),
  },
  {
    name: 'admin, between the commit of a result and its confirmation',
    strike: (world) => adminAtFrame(world, 'confirm'),
  },
  {
    name: 'admin, in the midst of an output of several parts',
    strike: (world) => adminAtFrame(world, 'part-stored', 'long'),
  },
  { name: 'admin, at any moment', strike: adminAtAnyMoment },
  { name: 'agent, as a delivery comes', strike: (world) => agentAtFrame(world, 'deliver', 'drop') },
  { name: 'agent, with its acknowledgement lost', strike: (world) => agentAtFrame(world, 'acknowledge', 'drop') },
  {
    name: 'agent, with its acknowledgement still on its way',
    strike: (world) => agentAtFrame(world, 'acknowledge', 'release'),
  },
  { name: 'agents, as their scripts begin', strike: agentsAtStart },
  { name: 'agent, with its result lost', strike: (world) => agentAtFrame(world, 'result', 'drop') },
  { name: 'agent, with its result still on its way', strike: (world) => agentAtFrame(world, 'result', 'release') },
  { name: 'agent, before the confirmation reaches it', strike: (world) => agentAtFrame(world, 'confirm', 'drop') },
  {
    name: 'agent, in the midst of an output of several parts',
    strike: (world) => agentAtFrame(world, 'output-part', 'drop', 'long'),
  },
  { name: 'agents, at any moment', strike: agentsAtAnyMoment },
  { name: 'admin, as it passes a cancel on', strike: (world) => atCancel(world, () => world.killAdmin()) },
  { name: 'agents, as a cancel comes', strike: (world) => atCancel(world, () => killAgents(world)) },
  { name: 'agents, while they end what was cancelled', strike: agentsAtEnding },
  { name: 'agents, while what they run passes its timeout', strike: agentsAtTimeout },
  { name: 'a machine goes down with all that runs on it', strike: machineDown },
  { name: 'everything at once', strike: everything },
  { name: 'PostgreSQL, under load', strike: postgresUnderLoad },
  { name: 'PostgreSQL, in the commit of a result', strike: postgresInCommit },
];

async function adminInTransaction(
  world: World,
  holding: Promise<CommitHold>,
  kind: ScriptKind = 'quick',
): Promise<void> {
  const hold = await holding;
  const created = world.create(kind);
  await hold.caught;
  await world.killAdmin();
  await hold.release();
  await created;
}

async function adminAtFrame(world: World, type: Frame['type'], kind: ScriptKind = 'quick'): Promise<void> {
  const held = world.wires[0]?.hold(type);
  const created = world.create(kind);
  await caught(held, type);
  await world.killAdmin();
  held?.drop();
  await created;
}

/**
 * In its commit, which goes through: the client knows of nothing, asks again under its key, and there is one command
 * (C1).
 */
async function askedAgain(world: World): Promise<void> {
  const hold = await holdCommit(world.postgres.connection, 'command-created');
  const created = world.create();
  await hold.caught;
  await world.killAdmin();
  await hold.release();
  const attempt = await created;
  await world.fleet.admins[0]?.start();
  await world.again(attempt);
  if (attempt.answer !== 'stored') throw new Error(`C1: a create that was asked for again was ${attempt.answer}`);
  await world.again(attempt);
}

/** The row of the execution is written and its event is not: one transaction, so neither may be seen. */
async function adminBeforeEvents(world: World): Promise<void> {
  const held = world.wires[0]?.hold('result');
  await world.create();
  await caught(held, 'result');
  const hold = await holdTable(world.postgres.connection, 'event');
  held?.release();
  await hold.caught;
  await world.killAdmin();
  await hold.release();
}

async function adminAtAnyMoment(world: World): Promise<void> {
  const created = await load(world);
  await delay(Math.random() * MOMENT_MS_MAX);
  await world.killAdmin();
  await Promise.all(created);
}

async function agentAtFrame(
  world: World,
  type: Frame['type'],
  then: 'drop' | 'release',
  kind: ScriptKind = 'quick',
): Promise<void> {
  const held = world.wires[0]?.hold(type);
  await world.create(kind);
  const frame = await caught(held, type);
  const node = await nodeOf(world, frame);
  await world.killAgent(world.fleet.agents.find((agent) => agent.node === node));
  held?.[then]();
}

async function agentsAtStart(world: World): Promise<void> {
  await begun(world, 'slow', 1);
  await killAgents(world);
}

/** What was asked of the admin and answered with 2xx reaches the agent in the end, and no process survives it (C9). */
async function atCancel(world: World, kill: () => Promise<unknown>): Promise<void> {
  const attempt = await endless(world);
  const held = world.wires[0]?.hold('cancel');
  await world.fleet.rest.post(`/commands/${attempt.id}/cancel`);
  await caught(held, 'cancel');
  await kill();
  held?.drop();
}

/** Between the TERM that ends the script and the KILL that ends its child, which ignores TERM. */
async function agentsAtEnding(world: World): Promise<void> {
  const attempt = await endless(world);
  await world.fleet.rest.post(`/commands/${attempt.id}/cancel`);
  await delay(MOMENT_MS_MAX + Math.random() * MOMENT_MS_MAX);
  await killAgents(world);
}

/** A command that runs on every node, and that the admin knows to be there, until somebody ends it. */
async function endless(world: World): Promise<Attempt> {
  const attempt = await begun(world, 'endless', world.fleet.agents.length);
  await until(
    'sent',
    async () =>
      (
        await world.fleet.sql(`select from command_execution where command_id = $1 and status = 'pending'`, [
          attempt.id,
        ])
      ).length === 0,
    CAUGHT_MS_MAX,
  );
  return attempt;
}

async function agentsAtTimeout(world: World): Promise<void> {
  await begun(world, 'timed', world.fleet.agents.length);
  await killAgents(world);
  await delay(TIMEOUT_MS);
}

/** Creates a command; resolves when its script runs on so many nodes. */
export async function begun(world: World, kind: ScriptKind, nodes: number): Promise<Attempt> {
  const before = world.runs().length;
  const attempt = await world.create(kind);
  await until('scripts that run', () => world.runs().length >= before + nodes, CAUGHT_MS_MAX);
  return attempt;
}

/** All of them at once. */
export async function killAgents(world: World): Promise<void> {
  await Promise.all(world.fleet.agents.map((agent) => world.killAgent(agent)));
}

async function agentsAtAnyMoment(world: World): Promise<void> {
  const created = await load(world);
  await delay(Math.random() * MOMENT_MS_MAX);
  await killAgents(world);
  await Promise.all(created);
}

/** The agent, its exec shims and its scripts: what a power failure leaves is the disk. */
async function machineDown(world: World): Promise<void> {
  const [agent] = world.fleet.agents;
  await begun(world, 'slow', 1);
  await world.killAgent(agent);
  for (const pid of processesWith(`EDGE_NODE_ID=${agent?.node ?? ''}`)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it ended by itself
    }
  }
}

async function everything(world: World): Promise<void> {
  const created = await load(world);
  await delay(Math.random() * MOMENT_MS_MAX);
  await Promise.all([
    ...world.fleet.agents.map((agent) => world.killAgent(agent)),
    world.killAdmin(),
    world.killPostgres(),
  ]);
  await Promise.all(created);
}

async function postgresUnderLoad(world: World): Promise<void> {
  const created = await load(world);
  await delay(Math.random() * MOMENT_MS_MAX);
  await world.killPostgres();
  await Promise.all(created);
}

async function postgresInCommit(world: World): Promise<void> {
  const hold = await holdCommit(world.postgres.connection, 'execution-finished');
  await world.create();
  await hold.caught;
  await world.killPostgres();
  await hold.release();
}

/** One command on its way, and more that are being created when this resolves. */
export async function load(world: World, at?: AdminProgram): Promise<Promise<unknown>[]> {
  await world.create('slow', { at });
  return [
    world.create('quick', { at }),
    world.create('long', { at }),
    world.create('slow', { at }),
    world.create('quick', { at }),
  ];
}

async function caught(held: Held | undefined, type: string): Promise<Frame> {
  const late = delay(CAUGHT_MS_MAX, null, { ref: false });
  const frame = await Promise.race([held?.caught, late]);
  if (frame === null || frame === undefined) throw new Error(`no ${type} frame came`);
  return frame;
}

/** The node that an execution named in a frame is for. */
async function nodeOf(world: World, frame: Frame): Promise<string> {
  const [row] = await world.fleet.sql<{ node_id: string }>('select node_id from command_execution where id = $1', [
    executionIn(frame),
  ]);
  if (row === undefined) throw new Error('a frame names an execution that is not stored');
  return row.node_id;
}

function executionIn(frame: Frame): string | undefined {
  if (frame.type === 'deliver') return frame.deliveries[0]?.execution;
  if (frame.type === 'acknowledge' || frame.type === 'confirm') return frame.executions[0];
  if (frame.type === 'result') return frame.results[0]?.execution;
  return frame.type === 'output-part' ? frame.execution : undefined;
}
