/** The actor of a self-update request: how it is created, counts, and moves. */
import test from 'ava';
import type { ReplyTo } from '../../../../actors/reply-to.ts';
import { ok } from '../../../../actors/refusal.ts';
import { COUNT_EVERY_MS_MIN } from '../../../../actors/self-update/limits.ts';
import { uncounted, type SelfUpdateState } from '../../../../actors/self-update/state.ts';
import { selfUpdateBehaviour } from '../../../../actors/self-update/transition.ts';
import { answer } from '../../../../actors/step.ts';
import { NODE, NOW_MS } from '../../../support/actors.ts';
import { counted, selfUpdateRecord } from '../../../support/self-updates.ts';

type Arguments = Parameters<typeof selfUpdateBehaviour.transition>;
const transition = (...said: Arguments) => selfUpdateBehaviour.transition(...said);
const replyTo = 1 as unknown as ReplyTo;
const request = selfUpdateRecord({ batchSize: 2 });
const COUNT = { type: 'count-self-update' } as const;
const WAKE = { type: 'wake-self-update' } as const;

/** One that is stored and not counting. */
const open: SelfUpdateState = { ...uncounted(request.id, request), isCounting: false };
const moved = (move: object, revision = 0) => ({
  kind: 'self-update-moved',
  request: request.id,
  revision,
  move,
  atMs: NOW_MS,
});

test('a request is stored with its nodes, answered, and left to whoever moves requests', (t) => {
  const targets = [{ node: NODE, clusterName: 'factory' }];

  const step = transition(
    uncounted(request.id, null),
    { type: 'create', replyTo, request, targets, idempotency: null },
    NOW_MS,
  );

  t.deepEqual(step.changes, [
    {
      write: { kind: 'self-update-created', request, targets },
      events: [],
      notices: [{ type: 'self-update-created', request: request.id }],
      idempotencyRecord: undefined,
    },
  ]);
  const [answered, ended] = step.effects;
  t.like(answered, {
    type: 'answer',
    result: { ok: true, value: { status: 'pending', summary: null, batch_size: 2 } },
  });
  t.deepEqual(ended, { type: 'stop' });
});

test('one that reaches nobody is completed at once, with its event in the same change', (t) => {
  const step = transition(
    uncounted(request.id, null),
    { type: 'create', replyTo, request, targets: [], idempotency: null },
    NOW_MS,
  );

  const summary = { total: 0, triggered: 0, failed: 0 };
  t.like(step.changes[0]?.events[0], { type: 'edge.self_update_request.completed', data: { summary } });
  t.like(step.effects[0], { result: { ok: true, value: { status: 'completed', summary } } });
});

test('one that exists is not created again', (t) => {
  const step = transition(open, { type: 'create', replyTo, request, targets: [], idempotency: null }, NOW_MS);

  t.deepEqual(step.changes, []);
  t.like(step.effects[0], { type: 'answer', result: { ok: false, refusal: { code: 'conflict' } } });
  t.notDeepEqual(step.effects[0], answer(replyTo, ok(null)));
});

test('after a start or a crash it counts; nodes that have their turn are woken once that is stored', (t) => {
  t.deepEqual(selfUpdateBehaviour.recoveryEffects(open, NOW_MS), [COUNT]);

  const step = transition(
    { ...open, isCounting: true },
    { type: 'nodes-counted', counted: counted({ waiting: 5 }, { revision: 7 }) },
    NOW_MS,
  );

  const onceStored = [WAKE, COUNT];
  t.deepEqual(step.changes, [
    { write: moved({ type: 'due', nodes: 2 }, 7), events: [], notices: [], onceStored } as never,
  ]);
  t.deepEqual(step.effects, [], 'a move that is refused is followed by no count but that of the recovery');
});

test('what was counted before its last move moves nothing, and is not counted again', (t) => {
  const at = (revision: number) => ({ type: 'nodes-counted', counted: counted({ waiting: 5 }, { revision }) }) as const;
  const { state } = transition({ ...open, isCounting: true }, at(7), NOW_MS);

  for (const revision of [6, 7]) t.is(transition(state, at(revision), NOW_MS).state, state);
  t.like(transition(state, at(8), NOW_MS).changes[0], { write: moved({ type: 'due', nodes: 2 }, 8) });
});

test('news of many nodes are counted together: one count at a time, and not more often than needed', (t) => {
  const first = transition(open, { type: 'nodes-changed' }, NOW_MS);
  t.deepEqual(first.effects, [COUNT]);
  const second = transition(first.state, { type: 'nodes-changed' }, NOW_MS);
  t.deepEqual(second.effects, []);
  t.is(transition(second.state, { type: 'nodes-changed' }, NOW_MS).state, second.state);

  const waiting = counted({ due: 2, inFlight: 2 });
  const third = transition(second.state, { type: 'nodes-counted', counted: waiting }, NOW_MS);

  const remind = { type: 'remind', key: 'count', message: { type: 'nodes-changed' } };
  t.deepEqual(third.effects, [{ ...remind, afterMs: COUNT_EVERY_MS_MIN } as never]);
  t.deepEqual(transition(third.state, { type: 'nodes-changed' }, NOW_MS + COUNT_EVERY_MS_MIN).effects, [COUNT]);
});

test('nodes that say nothing are woken again, without a write', (t) => {
  const quiet = counted({ due: 2, inFlight: 2, quiet: 1 });

  const step = transition({ ...open, isCounting: true }, { type: 'nodes-counted', counted: quiet }, NOW_MS);

  t.deepEqual([step.changes, step.effects], [[], [WAKE]]);
});

test('it ends with the change that completes it, and only once that is stored', (t) => {
  const over = counted({ triggered: 2 }, { status: 'processing' });

  const step = transition({ ...open, isCounting: true }, { type: 'nodes-counted', counted: over }, NOW_MS);

  t.deepEqual(step.effects, []);
  t.like(step.changes[0], { write: moved({ type: 'complete' }) });
  t.deepEqual(step.changes[0]?.onceStored, [{ type: 'stop' }]);
});

test('one that another admin completed, or that was deleted, ends without a word', (t) => {
  for (const found of [null, counted({}, { status: 'completed' })]) {
    const step = transition({ ...open, isCounting: true }, { type: 'nodes-counted', counted: found }, NOW_MS);

    t.deepEqual([step.changes, step.effects], [[], [{ type: 'stop' }]]);
  }
});
