/** What a node does with its turn in a self-update request. */
import test from 'ava';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { NO_UPDATES } from '../../../../actors/node/updates-state.ts';
import { ANSWER_MS_MAX } from '../../../../actors/self-update/limits.ts';
import {
  HEALTHY,
  liveNode,
  nodeRecord,
  nodeState,
  NODE,
  NOW_MS,
  REGISTRATION,
  session,
  SETTINGS,
} from '../../../support/actors.ts';

const REQUEST = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d99';
const OTHER = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d98';
const OLD = '1.0.0';
const behaviour = nodeBehaviour(SETTINGS);
const say = (state: NodeState, message: NodeMessage, nowMs = NOW_MS) => behaviour.transition(state, message, nowMs);

const due = { request: REQUEST, fromVersion: OLD, dueAtMs: NOW_MS, isAsked: false };
const record = nodeRecord({ status: 'healthy', selfUpdateEnabled: true, version: OLD });

/** Connected, healthy, and able to update. */
function able(more: Partial<NodeState> = {}): NodeState {
  const live = liveNode();
  return { ...live, record, session: { ...live.session!, updates: true }, ...more };
}

const asked = able({ updates: { due: [{ ...due, asked: session(1), isAsked: true }], triggered: null } });
const triggered = able({ updates: { due: [], triggered: { request: REQUEST, fromVersion: OLD } } });
const asks = {
  write: { kind: 'self-update-asked', request: REQUEST, node: NODE, from: OLD, atMs: NOW_MS },
  events: [],
  notices: [],
  onceStored: [{ type: 'send', session: session(1), frame: { type: 'update', request: REQUEST } }],
} as const;
const frame = { type: 'send', session: session(1), frame: { type: 'update', request: REQUEST } } as const;
const kinds = ({ changes }: ReturnType<typeof say>) => changes.map(({ write }) => write.kind);
const failure = ({ changes: [change] }: ReturnType<typeof say>) =>
  change?.write.kind === 'self-update-failed' ? change.write.error : undefined;
const outcome = (what: 'updated' | 'rolled_back' | 'unchanged') =>
  ({
    type: 'update-ended',
    session: session(1),
    outcome: { request: REQUEST, outcome: what, from: OLD, to: '1.1.0', error: null },
  }) as const;
const stored = {
  type: 'send',
  session: session(1),
  frame: { type: 'update-outcome-stored', request: REQUEST },
} as const;

test('its agent is asked when its turn has come, once a session, and only when that is stored', (t) => {
  const first = say(able(), { type: 'update', due: [due] });
  const again = say(first.state, { type: 'update', due: [due] });

  t.deepEqual([first.changes, first.effects], [[asks], []]);
  t.deepEqual([again.changes, again.effects], [[], []]);
});

test('a node without a session that is healthy by its row waits, and is asked by the session that comes', (t) => {
  const away = say({ ...able(), session: null }, { type: 'update', due: [due] });
  t.deepEqual([away.changes, away.effects], [[], []]);

  const hello = {
    registration: { ...REGISTRATION, self_update_enabled: true, version: OLD },
    report: HEALTHY,
    holding: [],
    updates: true,
  };
  const back = say(away.state, { type: 'agent-connected', session: session(1), hello });

  t.deepEqual(back.changes.at(-1), asks as never);
});

test('one that comes after its time is not asked any more', (t) => {
  const away = say({ ...able(), session: null }, { type: 'update', due: [due] });
  const late = NOW_MS + ANSWER_MS_MAX;

  const back = say({ ...away.state, session: able().session }, { type: 'update', due: [] }, late);

  t.deepEqual([back.changes, back.effects, back.state.updates.due], [[], [], []]);
});

test('one that is not well, takes no part any more, or has an old agent fails at once and says why', (t) => {
  const turn = { type: 'update', due: [due] } as const;

  t.is(
    failure(say({ ...able(), record: { ...record, status: 'unreachable' } }, turn)),
    'it was unreachable at its turn',
  );
  t.is(failure(say({ ...able(), record: { ...record, status: 'unhealthy' } }, turn)), 'it was unhealthy at its turn');
  t.is(
    failure(say({ ...able(), record: { ...record, selfUpdateEnabled: false } }, turn)),
    'its agent takes no part in self-updates any more',
  );
  const old = liveNode();
  t.is(failure(say({ ...old, record }, turn)), 'its agent is too old: it knows no self-updates by request');
});

test('one that was asked is not given up because it is not well meanwhile', (t) => {
  const step = say({ ...asked, record: { ...record, status: 'unhealthy' } }, { type: 'update', due: [] });

  t.deepEqual([step.changes, step.state.updates.due.length], [[], 1]);
});

test('one that an owner before had asked is asked again whatever it is now, and one beside it that nobody asked fails', (t) => {
  const before = { ...due, isAsked: true, asked: null };
  const other = { ...due, request: OTHER, asked: null };
  const state = able({
    record: { ...record, status: 'unhealthy' },
    updates: { due: [before, other], triggered: null },
  });

  const step = say(state, { type: 'update', due: [] });

  t.deepEqual(kinds(step), ['self-update-failed']);
  t.like(step.changes, [{ write: { request: OTHER, error: 'it was unhealthy at its turn' } }] as never);
  t.deepEqual(step.effects, [frame]);
  const old = say({ ...state, session: liveNode().session }, { type: 'update', due: [] });
  t.deepEqual(old.effects, [], 'an agent that does not know the frame is not sent it');
});

test('it is triggered with its event when the updater took the signal, and never twice', (t) => {
  const step = say(asked, { type: 'update-answered', session: session(1), request: REQUEST, error: null });
  const again = say(step.state, { type: 'update-answered', session: session(1), request: REQUEST, error: null });

  t.like(step.changes, [
    {
      write: { kind: 'self-update-triggered', request: REQUEST, node: NODE },
      events: [{ type: 'edge.node.update_triggered', data: { self_update_request_id: REQUEST, version: OLD } }],
    },
  ] as never);
  t.deepEqual(kinds(again), []);
});

test('it fails with the reason of its updater', (t) => {
  const step = say(asked, { type: 'update-answered', session: session(1), request: REQUEST, error: 'it answered 401' });

  t.is(failure(step), 'it answered 401');
  t.deepEqual(step.state.updates, NO_UPDATES);
});

test('another version of its agent after the trigger is its update; the same one says nothing', (t) => {
  const hello = (version: string) => ({
    registration: { ...REGISTRATION, self_update_enabled: true, version },
    report: HEALTHY,
    holding: [],
    updates: true,
  });

  const back = say(triggered, { type: 'agent-connected', session: session(2), hello: hello('1.1.0') });
  const same = say(triggered, { type: 'agent-connected', session: session(2), hello: hello(OLD) });

  t.deepEqual(
    kinds(back).filter((kind) => kind.startsWith('self-update')),
    ['self-update-ended'],
  );
  t.deepEqual(
    kinds(same).filter((kind) => kind.startsWith('self-update')),
    [],
  );
  t.is(same.state.updates.triggered?.request, REQUEST);
});

test('an answer that was lost with the old agent is made good by what came of it', (t) => {
  const step = say(asked, outcome('updated'));

  t.deepEqual(kinds(step), ['self-update-triggered', 'self-update-ended']);
  t.deepEqual(step.effects, [stored]);
});

test('what came of an update is stored, and its agent told so; going back also when the update was told', (t) => {
  t.deepEqual(kinds(say(triggered, outcome('unchanged'))), ['self-update-ended']);
  const back = say(able(), outcome('rolled_back'));
  t.deepEqual([kinds(back), back.effects], [['self-update-ended'], [stored]]);

  const known = say(able(), outcome('updated')); // by the version that it came with

  t.deepEqual([kinds(known), known.effects], [[], [stored]]);
});

test('a new owner knows whose turn it is, and asks for what may have been lost; rows that are read again, too', (t) => {
  const loaded = nodeState({ record, updates: { due: [{ ...due, asked: null }], triggered: null } });

  t.deepEqual(behaviour.recoveryEffects(loaded, NOW_MS).at(0), {
    type: 'tell',
    told: { to: { kind: 'node', id: NODE }, message: { type: 'update', due: [] } },
  });
  t.deepEqual(behaviour.refreshed(asked, loaded).updates, loaded.updates);
});

test('what came of one request is not told of another for which it is asked only then', (t) => {
  const other = { ...due, request: OTHER, asked: null };
  const hello = {
    registration: { ...REGISTRATION, self_update_enabled: true, version: '1.1.0' },
    report: HEALTHY,
    holding: [],
    updates: true,
  };
  const waiting = { ...triggered, session: null, updates: { ...triggered.updates, due: [other] } };

  const back = say(waiting, { type: 'agent-connected', session: session(1), hello });
  const answered = say(back.state, { type: 'update-answered', session: session(1), request: OTHER, error: null });

  const writes = back.changes.flatMap(({ write }) => (write.kind.startsWith('self-update') ? [write] : []));
  t.like(writes, [
    { kind: 'self-update-ended', request: REQUEST, outcome: 'updated', from: OLD, to: '1.1.0' },
    { kind: 'self-update-asked', request: OTHER, from: '1.1.0' },
  ] as never);
  t.deepEqual(kinds(answered), ['self-update-triggered'], 'its updater may find something newer');
  t.deepEqual(answered.state.updates.triggered, { request: OTHER, fromVersion: '1.1.0' });
});

test('one that was asked before it came with another version may owe it to that request', (t) => {
  const before = { ...due, request: OTHER, isAsked: true, asked: null };
  const state = { ...able(), record: { ...record, version: '1.1.0' }, updates: { due: [before], triggered: null } };

  const step = say(state, { type: 'update-answered', session: session(1), request: OTHER, error: null });

  t.deepEqual(kinds(step), ['self-update-triggered', 'self-update-ended']);
  t.like(step.changes[1], { write: { outcome: 'updated', from: OLD, to: '1.1.0' } });
});
