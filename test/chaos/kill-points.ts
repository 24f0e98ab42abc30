/**
 * The moments at which processes are killed, one function each. Each leaves the fixture as it fell; recovering is the
 * fixture's.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdminProgram } from '../support/fleet/admin-program.ts';
import { endScripts } from '../support/fleet/agent-program.ts';
import { scaled } from '../support/busy.ts';
import { until } from '../support/until.ts';
import { holdCommit, holdTable, strikeIn, type CommitHold } from './commit-hold.ts';
import type { Frame, Held } from './wire.ts';
import type { Attempt } from './books.ts';
import { type Fixture } from './fixture.ts';
import { TIMEOUT_MS, type CreateOptions, type ScriptKind } from './scripts.ts';

/** A moment, in words, and what is done then. */
export interface KillPoint {
  readonly name: string;
  readonly strike: (fixture: Fixture) => Promise<void>;
}

/** How long a frame or a commit is waited for, in ms; when none comes the point is not reached, which is an error. */
const CAUGHT_MS_MAX = 15_000;

/** Longest pause of a random moment, in ms: a quick command is over by then. */
const MOMENT_MS_MAX = 250;

/** Every point at which a single kill of an admin or an agent is aimed. */
export const KILL_POINTS: readonly KillPoint[] = [
  {
    name: 'admin, at a create, before anything of it is written',
    strike: (fixture) => adminInTransaction(fixture, holdTable(fixture.postgres.connection, 'command')),
  },
  {
    name: 'admin, at a create, in its commit',
    strike: (fixture) => adminInTransaction(fixture, holdCommit(fixture.postgres.connection, 'command-created')),
  },
  { name: 'admin, at a create, behind its commit', strike: (fixture) => adminAtFrame(fixture, 'deliver') },
  { name: 'admin, at a create that its client asks for again', strike: askedAgain },
  {
    name: 'admin, between the journal of the agent and its acknowledgement',
    strike: (fixture) => adminAtFrame(fixture, 'acknowledge'),
  },
  {
    name: 'admin, in the commit of sent',
    strike: (fixture) => adminInTransaction(fixture, holdCommit(fixture.postgres.connection, 'execution-sent'), 'slow'),
  },
  { name: 'admin, as a result comes', strike: (fixture) => adminAtFrame(fixture, 'result') },
  { name: 'admin, between a result and its events', strike: adminBeforeEvents },
  {
    name: 'admin, in the commit of a result',
    strike: (fixture) => adminInTransaction(fixture, holdCommit(fixture.postgres.connection, 'execution-finished')),
  },
  {
    name: 'admin, between the commit of a result and its confirmation',
    strike: (fixture) => adminAtFrame(fixture, 'confirm'),
  },
  {
    name: 'admin, in the midst of an output of several parts',
    strike: (fixture) => adminAtFrame(fixture, 'part-stored', 'long'),
  },
  { name: 'admin, at any moment', strike: (fixture) => underLoad(fixture, () => fixture.killAdmin()) },
  { name: 'agent, as a delivery comes', strike: (fixture) => agentAtFrame(fixture, 'deliver', 'drop') },
  { name: 'agent, with its acknowledgement lost', strike: (fixture) => agentAtFrame(fixture, 'acknowledge', 'drop') },
  {
    name: 'agent, with its acknowledgement still on its way',
    strike: (fixture) => agentAtFrame(fixture, 'acknowledge', 'release'),
  },
  { name: 'agents, as their scripts begin', strike: agentsAtStart },
  { name: 'agent, with its result lost', strike: (fixture) => agentAtFrame(fixture, 'result', 'drop') },
  { name: 'agent, with its result still on its way', strike: (fixture) => agentAtFrame(fixture, 'result', 'release') },
  { name: 'agent, before the confirmation reaches it', strike: (fixture) => agentAtFrame(fixture, 'confirm', 'drop') },
  {
    name: 'agent, in the midst of an output of several parts',
    strike: (fixture) => agentAtFrame(fixture, 'output-part', 'drop', 'long'),
  },
  { name: 'agents, at any moment', strike: (fixture) => underLoad(fixture, () => killAgents(fixture)) },
  { name: 'admin, as it passes a cancel on', strike: (fixture) => atCancel(fixture, () => fixture.killAdmin()) },
  { name: 'agents, as a cancel comes', strike: (fixture) => atCancel(fixture, () => killAgents(fixture)) },
  { name: 'agents, while they end what was cancelled', strike: agentsAtEnding },
  { name: 'agents, while what they run passes its timeout', strike: agentsAtTimeout },
  { name: 'a machine goes down with all that runs on it', strike: machineDown },
  {
    name: 'everything at once',
    strike: (fixture) =>
      underLoad(fixture, () => Promise.all([killAgents(fixture), fixture.killAdmin(), fixture.killPostgres()])),
  },
  { name: 'PostgreSQL, under load', strike: (fixture) => underLoad(fixture, () => fixture.killPostgres()) },
  { name: 'PostgreSQL, in the commit of a result', strike: postgresInCommit },
];

async function adminInTransaction(
  fixture: Fixture,
  holding: Promise<CommitHold>,
  kind: ScriptKind = 'quick',
): Promise<void> {
  await strikeIn(
    holding,
    () => fixture.create(kind),
    () => fixture.killAdmin(),
  );
}

async function adminAtFrame(fixture: Fixture, type: Frame['type'], kind: ScriptKind = 'quick'): Promise<void> {
  const held = fixture.wires[0]?.hold(type);
  const creating = accepted(fixture, kind);
  await caught(held, type);
  await fixture.killAdmin();
  held?.drop();
  await creating;
}

/**
 * In its commit, which goes through: the client knows of nothing, asks again under its key, and there is one command
 * (C1).
 */
async function askedAgain(fixture: Fixture): Promise<void> {
  const attempt = await strikeIn(
    holdCommit(fixture.postgres.connection, 'command-created'),
    () => fixture.create(),
    () => fixture.killAdmin(),
  );
  await fixture.fleet.admin().start();
  await fixture.again(attempt);
  await insisted(fixture, attempt);
  if (attempt.answer !== 'stored') throw new Error(`C1: a create that was asked for again was ${attempt.answer}`);
  await fixture.again(attempt);
}

/** The row of the execution is written and its event is not: one transaction, so neither may be seen. */
async function adminBeforeEvents(fixture: Fixture): Promise<void> {
  const held = fixture.wires[0]?.hold('result');
  await accepted(fixture);
  await caught(held, 'result');
  const hold = await holdTable(fixture.postgres.connection, 'event');
  held?.release();
  await hold.caught;
  await fixture.killAdmin();
  await hold.release();
}

async function agentAtFrame(
  fixture: Fixture,
  type: Frame['type'],
  then: 'drop' | 'release',
  kind: ScriptKind = 'quick',
): Promise<void> {
  const held = fixture.wires[0]?.hold(type);
  await accepted(fixture, kind);
  const frame = await caught(held, type);
  const node = await nodeOf(fixture, frame);
  await fixture.killAgent(fixture.fleet.agents.find((agent) => agent.node === node));
  held?.[then]();
}

async function agentsAtStart(fixture: Fixture): Promise<void> {
  await begun(fixture, 'slow', 1);
  await killAgents(fixture);
}

/** What was asked of the admin and answered with 2xx reaches the agent in the end, and no process survives it (C9). */
async function atCancel(fixture: Fixture, kill: () => Promise<unknown>): Promise<void> {
  const attempt = await endless(fixture);
  const held = fixture.wires[0]?.hold('cancel');
  await fixture.fleet.rest.post(`/commands/${attempt.id}/cancel`);
  await caught(held, 'cancel');
  await kill();
  held?.drop();
}

/** Between the TERM that ends the script and the KILL that ends its child, which ignores TERM. */
async function agentsAtEnding(fixture: Fixture): Promise<void> {
  const attempt = await endless(fixture);
  await fixture.fleet.rest.post(`/commands/${attempt.id}/cancel`);
  await delay(MOMENT_MS_MAX + Math.random() * MOMENT_MS_MAX);
  await killAgents(fixture);
}

/** A command that runs on every node, and that the admin knows to be there, until somebody ends it. */
async function endless(fixture: Fixture): Promise<Attempt> {
  const attempt = await begun(fixture, 'endless', fixture.fleet.agents.length);
  await sent(fixture, attempt);
  return attempt;
}

/** Resolves when all executions of these commands were sent. */
export async function sent({ fleet }: Fixture, ...attempts: readonly Attempt[]): Promise<void> {
  const pending = `select from command_execution where command_id = any($1) and status = 'pending'`;
  const ids = attempts.map(({ id }) => id);
  await until('sent', async () => (await fleet.sql(pending, [ids])).length === 0, CAUGHT_MS_MAX);
}

async function agentsAtTimeout(fixture: Fixture): Promise<void> {
  await begun(fixture, 'timed', fixture.fleet.agents.length);
  await killAgents(fixture);
  await delay(TIMEOUT_MS);
}

/** Creates a command. Where an admin that is busy cannot do it right now it is asked again, as its users should. */
export async function accepted(fixture: Fixture, kind?: ScriptKind, more?: CreateOptions): Promise<Attempt> {
  const attempt = await fixture.create(kind, more);
  await insisted(fixture, attempt);
  return attempt;
}

/**
 * Asks for it again as long as it is refused for now. An admin that is killed meanwhile leaves it without an answer.
 */
async function insisted(fixture: Fixture, attempt: Attempt): Promise<void> {
  const isForNow = (): boolean => attempt.answer === 'refused' && attempt.isForNow === true;
  await until('a create that is not refused for now', async () => {
    if (isForNow()) await fixture.again(attempt);
    return !isForNow();
  });
}

/** Creates a command; resolves when its script runs on so many nodes. */
export async function begun(fixture: Fixture, kind: ScriptKind, nodes: number): Promise<Attempt> {
  const before = fixture.runs().length;
  const attempt = await accepted(fixture, kind);
  await until('scripts that run', () => fixture.runs().length >= before + nodes, CAUGHT_MS_MAX);
  return attempt;
}

/** All of them at once. */
export async function killAgents(fixture: Fixture): Promise<void> {
  await Promise.all(fixture.fleet.agents.map((agent) => fixture.killAgent(agent)));
}

/** The agent, its exec shims and its scripts: what a power failure leaves is the disk. */
async function machineDown(fixture: Fixture): Promise<void> {
  const agent = fixture.fleet.agent();
  await begun(fixture, 'slow', 1);
  await fixture.killAgent(agent);
  endScripts(agent.node);
}

/** At any moment while commands are created and run. */
async function underLoad(fixture: Fixture, kill: () => Promise<unknown>): Promise<void> {
  const created = await load(fixture);
  await delay(Math.random() * MOMENT_MS_MAX);
  await kill();
  await Promise.all(created);
}

async function postgresInCommit(fixture: Fixture): Promise<void> {
  await strikeIn(
    holdCommit(fixture.postgres.connection, 'execution-finished'),
    () => fixture.create(),
    () => fixture.killPostgres(),
  );
}

/** One command on its way, and more that are being created when this resolves. */
export async function load(fixture: Fixture, at?: AdminProgram): Promise<Promise<unknown>[]> {
  await fixture.create('slow', { at });
  return [
    fixture.create('quick', { at }),
    fixture.create('long', { at }),
    fixture.create('slow', { at }),
    fixture.create('quick', { at }),
  ];
}

async function caught(held: Held | undefined, type: string): Promise<Frame> {
  const late = delay(scaled(CAUGHT_MS_MAX), null, { ref: false });
  const frame = await Promise.race([held?.caught, late]);
  if (frame === null || frame === undefined) throw new Error(`no ${type} frame came`);
  return frame;
}

/** The node that an execution named in a frame is for. */
async function nodeOf(fixture: Fixture, frame: Frame): Promise<string> {
  const [row] = await fixture.fleet.sql<{ node_id: string }>('select node_id from command_execution where id = $1', [
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
