/**
 * The self-updates of a node: its agent is asked when its turn has come, and what the updater makes of it is stored
 * before anybody is told.
 */
import type { UpdateOutcome } from '../../transport/protocol/updates.ts';
import type { Change, Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import { ANSWER_MS_MAX } from '../self-update/limits.ts';
import type { SelfUpdateHotWrite } from '../self-update/writes.ts';
import type { MessageOf } from './messages.ts';
import { nodeSnapshot } from './snapshots.ts';
import type { LiveSession, NodeState } from './state.ts';
import { seen } from './status.ts';
import type { AskedUpdate, DueUpdate } from './updates-state.ts';

/** Its turn has come. What is known here already is newer than what was told. */
export function update(state: NodeState, told: readonly DueUpdate[], nowMs: number): Step<NodeState> {
  const { updates } = state;
  const known = new Set([...updates.due, updates.triggered].map((one) => one?.request));
  const news = told.filter(({ request }) => !known.has(request)).map((one): AskedUpdate => ({ ...one, asked: null }));
  return asking(news.length === 0 ? state : withDue(state, [...updates.due, ...news]), nowMs);
}

/** An agent came: with another version after an update, or to be asked now. */
export function updatesOfSession(state: NodeState, nowMs: number): Step<NodeState> {
  const { due, triggered } = state.updates;
  if (due.length === 0 && triggered === null) return unchanged(state);
  const { version } = state.record;
  if (triggered === null || triggered.fromVersion === version) return asking(state, nowMs);
  const asked = asking({ ...state, updates: { ...state.updates, triggered: null } }, nowMs);
  return step(asked.state, [updated(state, triggered, nowMs), ...asked.changes], asked.effects);
}

/** Whether the updater took the signal. */
export function updateAnswered(
  state: NodeState,
  { request, error }: MessageOf<'update-answered'>,
  nowMs: number,
): Step<NodeState> {
  const due = state.updates.due.find((one) => one.request === request);
  if (due === undefined) return unchanged(state); // it answered this before, or too late
  return error === null ? triggered(state, due, nowMs) : failed(state, [{ due, error }], nowMs);
}

/** What came of an update. The agent keeps it until it hears that it is stored, or is not wanted. */
export function updateEnded(
  state: NodeState,
  session: LiveSession,
  outcome: UpdateOutcome,
  nowMs: number,
): Step<NodeState> {
  const stored: Effect = {
    type: 'send',
    session: session.id,
    frame: { type: 'update-outcome-stored', request: outcome.request },
  };
  // That it came of it says that the signal was taken: the answer was lost.
  const due = state.updates.due.find((one) => one.request === outcome.request);
  const begun = due === undefined ? unchanged(state) : triggered(state, due, nowMs, outcome.outcome === 'updated');
  const isOpen = begun.state.updates.triggered?.request === outcome.request;
  // An agent that came with another version has said so already; that it went back again it says now.
  if (!isOpen && outcome.outcome !== 'rolled_back') return step(begun.state, begun.changes, [stored]);
  const write: SelfUpdateHotWrite = {
    kind: 'self-update-ended',
    request: outcome.request,
    node: state.record.id,
    outcome: outcome.outcome,
    from: outcome.from,
    to: outcome.to,
    error: outcome.error,
    atMs: nowMs,
  };
  const next = isOpen ? { ...begun.state, updates: { ...begun.state.updates, triggered: null } } : begun.state;
  return step(next, [...begun.changes, changeOf(write)], [stored]);
}

/**
 * Asks the agent, where it was not asked on its session. A node that has none and is healthy by its row is on its way
 * from one admin to another: it waits until its time is up, which the request's actor tells by the rows.
 */
function asking(state: NodeState, nowMs: number): Step<NodeState> {
  const open = state.updates.due.filter(({ dueAtMs }) => nowMs < dueAtMs + ANSWER_MS_MAX);
  const next = open.length === state.updates.due.length ? state : withDue(state, open);
  // One that was asked may have told its updater already, whatever it is now: its agent remembers, and says so.
  const fresh = open.filter(({ isAsked }) => !isAsked);
  const problem = fresh.length === 0 ? null : problemOf(next);
  if (problem === null) return asked(next, nowMs);
  const refused = failed(
    next,
    fresh.map((due) => ({ due, error: problem })),
    nowMs,
  );
  const rest = asked(refused.state, nowMs);
  return step(rest.state, [...refused.changes, ...rest.changes], rest.effects);
}

/**
 * That it is asked is stored before it is: an owner after this one must know, and ask again. With the version that it
 * has by then, which what came of another request may have changed since its turn came.
 */
function asked(state: NodeState, nowMs: number): Step<NodeState> {
  const { session, record, updates } = state;
  const open = session?.updates === true ? updates.due.filter((due) => due.asked !== session.id) : [];
  if (session === null || open.length === 0) return step(state, []);
  const send = (request: string): Effect => ({
    type: 'send',
    session: session.id,
    frame: { type: 'update', request },
  });
  const changes = open
    .filter(({ isAsked }) => !isAsked)
    .map(({ request }): Change => ({
      write: { kind: 'self-update-asked', request, node: record.id, from: record.version, atMs: nowMs },
      events: [],
      notices: [],
      onceStored: [send(request)],
    }));
  return step(
    withDue(
      state,
      updates.due.map((due) => ({
        ...due,
        fromVersion: due.isAsked ? due.fromVersion : record.version,
        asked: session.id,
        isAsked: true,
      })),
    ),
    changes,
    open.filter(({ isAsked }) => isAsked).map(({ request }) => send(request)),
  );
}

/** Why it cannot be triggered now; null: it can, or may be able in a moment. */
function problemOf({ record, session }: NodeState): string | null {
  if (!record.selfUpdateEnabled) return 'its agent takes no part in self-updates any more';
  if (record.status !== 'healthy') return `it was ${record.status} at its turn`;
  return session === null || session.updates ? null : 'its agent is too old: it knows no self-updates by request';
}

/** The first version of an updated agent may have been here before its answer. */
function triggered(state: NodeState, due: AskedUpdate, nowMs: number, isTold = false): Step<NodeState> {
  const { request, fromVersion } = due;
  const record = seen(state, nowMs);
  const change: Change = {
    write: { kind: 'self-update-triggered', request, node: record.id, atMs: nowMs },
    events: [
      {
        type: 'edge.node.update_triggered',
        subject: record.id,
        atMs: nowMs,
        data: { ...nodeSnapshot(record, state.aliases), self_update_request_id: request },
      },
    ],
    notices: [
      { type: 'self-update-changed', request, triggeredAfterMs: Math.max(0, nowMs - due.dueAtMs) },
      { type: 'events-stored' },
    ],
  };
  const next = without(state, [due]);
  if (isTold || fromVersion === record.version)
    return step({ ...next, updates: { ...next.updates, triggered: { request, fromVersion } } }, [change]);
  return step(next, [change, updated(state, due, nowMs)]);
}

function failed(
  state: NodeState,
  refused: readonly { readonly due: AskedUpdate; readonly error: string }[],
  nowMs: number,
): Step<NodeState> {
  const changes = refused.map(({ due: { request }, error }) =>
    changeOf({ kind: 'self-update-failed', request, node: state.record.id, error, atMs: nowMs }),
  );
  return step(
    without(
      state,
      refused.map(({ due }) => due),
    ),
    changes,
  );
}

function updated(
  { record }: NodeState,
  { request, fromVersion: from }: { readonly request: string; readonly fromVersion: string },
  atMs: number,
): Change {
  const to = record.version;
  return changeOf({
    kind: 'self-update-ended',
    request,
    node: record.id,
    outcome: 'updated',
    from,
    to,
    error: null,
    atMs,
  });
}

function changeOf(write: SelfUpdateHotWrite): Change {
  return { write, events: [], notices: [{ type: 'self-update-changed', request: write.request }] };
}

function without(state: NodeState, gone: readonly AskedUpdate[]): NodeState {
  return withDue(
    state,
    state.updates.due.filter((one) => !gone.includes(one)),
  );
}

function withDue(state: NodeState, due: readonly AskedUpdate[]): NodeState {
  return { ...state, updates: { ...state.updates, due } };
}
