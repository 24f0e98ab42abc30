/** What a webhook does with each message. */
import test from 'ava';
import { refuse } from '../../../../actors/refusal.ts';
import type { WebhookMessage } from '../../../../actors/webhook/messages.ts';
import { REDELIVERIES_MAX, unloaded, WINDOW_DELIVERIES_MAX } from '../../../../actors/webhook/state.ts';
import { REPLY_TO, id, NOW_MS } from '../../../support/actors.ts';
import {
  after,
  answered,
  attempted,
  behaviour,
  delivery,
  FAILED,
  postedBy,
  posting,
  RECORD,
  webhook,
} from '../../../support/webhook-actor.ts';

const SAME = id<string>('b', 77);
const loadedBy = (load: number, deliveries: readonly ReturnType<typeof delivery>[], more = false): WebhookMessage => ({
  type: 'deliveries-loaded',
  load,
  deliveries,
  more,
});
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('creating it stores it sealed, and answers without secret and headers', (t) => {
  const { type: _type, ...sealed } = {
    type: 'create',
    replyTo: REPLY_TO,
    url: RECORD.url,
    subscribedEvents: RECORD.subscribedEvents,
    sealedSecret: 's',
    sealedHeaders: 'h',
    id: RECORD.id,
  } as const;
  const initialState = { ...unloaded(RECORD), record: null, supply: 'idle' as const };

  const { state, changes, effects } = after(initialState, { type: 'create', ...sealed, idempotency: null });

  t.like(changes[0]?.write, {
    kind: 'webhook-created',
    url: RECORD.url,
    sealedSecret: 's',
    sealedHeaders: 'h',
    atMs: NOW_MS,
  });
  t.like(state.record, { url: RECORD.url, sealedSecret: 's', insertedAtMs: NOW_MS });
  const at = new Date(NOW_MS).toISOString();
  t.deepEqual(effects, [
    {
      type: 'answer',
      to: REPLY_TO,
      result: {
        ok: true,
        value: {
          id: RECORD.id,
          url: RECORD.url,
          subscribed_events: RECORD.subscribedEvents,
          inserted_at: at,
          updated_at: at,
        },
      },
    },
  ]);
  t.like(after(state, { type: 'create', ...sealed, idempotency: null }), {
    changes: [],
    effects: [{ result: { ok: false, refusal: { code: 'conflict' } } }],
  });
});

test('deliveries of different subjects are posted at once, as many as may be in flight', (t) => {
  const { state, effects } = after(
    webhook(),
    { type: 'deliveries-stored' },
    loadedBy(
      1,
      [1, 2, 3].map((number) => delivery(number)),
    ),
  );

  t.deepEqual(postedBy(effects), [id('d', 1), id('d', 2)]);
  t.deepEqual(
    state.window.map(({ phase }) => phase),
    ['posting', 'posting', 'ready'],
  );
  t.deepEqual(postedBy(after(state, attempted(delivery(2), answered(200))).effects), [id('d', 3)]);
});

test('deliveries of one subject are posted one after another, also while the first waits for its next try (V2)', (t) => {
  const [first, second] = [delivery(1, { subject: SAME }), delivery(2, { subject: SAME })];
  const begun = after(webhook(), { type: 'deliveries-stored' }, loadedBy(1, [first, second]));
  t.deepEqual(postedBy(begun.effects), [first.id]);

  const failed = after(begun.state, attempted(first, answered(503)));
  t.deepEqual(failed.effects, [
    { type: 'remind', key: first.id, afterMs: 500, message: { type: 'delivery-due', delivery: first.id } },
  ]);
  const stored = after(failed.state, { type: 'deliveries-stored' });
  t.deepEqual(postedBy(stored.effects), []);

  const again = behaviour.transition(stored.state, { type: 'delivery-due', delivery: first.id }, NOW_MS + 500);
  t.deepEqual(postedBy(again.effects), [first.id]);
  t.deepEqual(postedBy(behaviour.transition(again.state, attempted(first, answered(204)), NOW_MS + 501).effects), [
    second.id,
  ]);
});

test('each try is stored with its number and what came of it; the last one drops it', (t) => {
  for (const [attempts, attempt, status, nextAttemptAtMs] of [
    [0, FAILED, 'pending', NOW_MS + 500],
    [1, answered(503), 'pending', NOW_MS + 2_000],
    [2, FAILED, 'dropped', null],
    [1, answered(204), 'delivered', null],
    [0, answered(410), 'dropped', null],
  ] as const) {
    const ref = delivery(1, { attempts });

    const { state, changes } = after(webhook([posting(ref)]), attempted(ref, attempt));

    t.deepEqual(changes, [
      {
        write: {
          kind: 'delivery-attempted',
          delivery: ref.id,
          number: attempts + 1,
          attempt,
          status,
          nextAttemptAtMs,
          atMs: NOW_MS,
        },
        events: [],
        notices: [],
      },
    ]);
    t.deepEqual(
      state.window.map((one) => one.ref.attempts),
      status === 'pending' ? [attempts + 1] : [],
    );
  }
});

test('a delivery found with a time to come waits for it, one whose time has passed does not', (t) => {
  const [early, late] = [
    delivery(1, { attempts: 1, dueAtMs: NOW_MS - 1 }),
    delivery(2, { attempts: 1, dueAtMs: NOW_MS + 3_000 }),
  ];

  const { effects } = after(webhook(), { type: 'deliveries-stored' }, loadedBy(1, [early, late]));

  t.deepEqual(postedBy(effects), [early.id]);
  t.deepEqual(
    effects.filter(({ type }) => type === 'remind'),
    [{ type: 'remind', key: late.id, afterMs: 3_000, message: { type: 'delivery-due', delivery: late.id } }],
  );
});

test('the window takes so many, and is filled up behind its last one when it runs low', (t) => {
  const full = numbers(1, WINDOW_DELIVERIES_MAX).map((number) =>
    delivery(number, { subject: SAME, cursor: `100-${1_000 + number}` }),
  );
  const fresh = unloaded(RECORD);
  t.deepEqual(behaviour.recoveryEffects(fresh, NOW_MS), [
    { type: 'load-deliveries', load: 0, after: null, limit: WINDOW_DELIVERIES_MAX },
  ]);

  let { state, effects } = after(fresh, loadedBy(0, full, true));
  const finished: number[] = [];
  for (const [index, ref] of full.entries()) {
    ({ state, effects } = after(state, attempted(ref, answered(200))));
    if (effects.some(({ type }) => type === 'load-deliveries')) finished.push(index + 1);
    if (finished.length > 0) break;
  }

  t.deepEqual(finished, [WINDOW_DELIVERIES_MAX / 2]);
  t.deepEqual(effects.at(-1), {
    type: 'load-deliveries',
    load: 1,
    after: full.at(-1)?.cursor,
    limit: WINDOW_DELIVERIES_MAX / 2,
  });
  t.is(after(state, { type: 'deliveries-stored' }).effects.length, 0); // one load at a time
});

test('what was stored while a load was under way is looked for again', (t) => {
  const loading = after(webhook(), { type: 'deliveries-stored' });
  t.deepEqual(loading.effects, [{ type: 'load-deliveries', load: 1, after: '100-99', limit: WINDOW_DELIVERIES_MAX }]);

  const { effects } = after(
    loading.state,
    { type: 'deliveries-stored' },
    { type: 'deliveries-stored' },
    loadedBy(1, [delivery(101)]),
  );

  t.deepEqual(effects.at(-1), { type: 'load-deliveries', load: 2, after: '100-101', limit: WINDOW_DELIVERIES_MAX - 1 });
  t.is(after(loading.state, loadedBy(1, [])).effects.length, 0);
});

test('a fresh one that is told before its first load is through looks again behind it', (t) => {
  const { effects } = after(unloaded(RECORD), { type: 'deliveries-stored' }, loadedBy(0, [delivery(1)]));

  t.deepEqual(
    effects.map(({ type }) => type),
    ['post', 'load-deliveries'],
  );
});

test('a load that overlaps with what is there, or with what was finished meanwhile, adds nothing twice', (t) => {
  const [first, second] = [delivery(1), delivery(2)];
  const reading = behaviour.refreshed(webhook([posting(first), posting(second)]), unloaded(RECORD));

  const { state, effects } = after(reading, attempted(first, answered(200)), loadedBy(1, [first, second, delivery(3)]));

  t.deepEqual(
    state.window.map(({ ref, phase }) => [ref.id, phase]),
    [
      [second.id, 'posting'],
      [id('d', 3), 'posting'],
    ],
  );
  t.deepEqual(postedBy(effects), [id('d', 3)]);
});

test('what an earlier load brings is ignored', (t) => {
  const reading = behaviour.refreshed(webhook([], { load: 4, supply: 'loading' }), unloaded(RECORD));

  const { state, effects } = after(reading, loadedBy(4, [delivery(1)]));

  t.is(state, reading);
  t.deepEqual(effects, []);
});

test('sending again adds one more try, in no order, and holds up nobody', (t) => {
  const before = delivery(5, { subject: SAME });
  const old = delivery(1, { subject: SAME, attempts: 3, attemptsMax: 3, dueAtMs: null });

  const { state, changes, effects } = after(webhook([posting(before), delivery(6, { subject: SAME })]), {
    type: 'redeliver',
    replyTo: REPLY_TO,
    delivery: old,
  });

  t.deepEqual(
    changes.map(({ write }) => write),
    [{ kind: 'delivery-reopened', delivery: old.id, attempts: 3, atMs: NOW_MS }],
  );
  t.deepEqual(effects[0], { type: 'answer', to: REPLY_TO, result: { ok: true, value: null } });
  t.deepEqual(postedBy(effects), [old.id]);
  const failed = after(state, attempted(old, FAILED));
  t.like(failed.changes[0]?.write, { number: 4, status: 'dropped' });
  t.deepEqual(postedBy(failed.effects), []); // its subject is still busy
});

test('sending again is refused while it has not finished, and when too many wait', (t) => {
  const old = delivery(1, { attempts: 3 });
  const redeliver: WebhookMessage = { type: 'redeliver', replyTo: REPLY_TO, delivery: old };
  const busy = webhook(
    numbers(1, REDELIVERIES_MAX).map((number) => ({ ref: delivery(100 + number), phase: 'ready', isRedelivery: true })),
  );

  t.like(after(webhook([posting(old)]), redeliver), {
    changes: [],
    effects: [{ result: { ok: false, refusal: { code: 'conflict' } } }],
  });
  t.like(after(busy, redeliver), {
    changes: [],
    effects: [{ result: { ok: false, refusal: { code: 'rate_limited' } } }],
  });
});

test('deleting it cuts what is under way before it answers, and nothing is posted any more (V2)', (t) => {
  const [first, second] = [delivery(1), delivery(2, { subject: delivery(1).subject })];

  const { state, changes, effects } = after(webhook([posting(first), second]), { type: 'delete', replyTo: REPLY_TO });

  t.deepEqual(
    changes.map(({ write }) => write),
    [{ kind: 'webhook-deleted', id: RECORD.id }],
  );
  t.deepEqual(effects, [
    { type: 'cut-posts' },
    { type: 'answer', to: REPLY_TO, result: { ok: true, value: null } },
    { type: 'stop' },
  ]);
  t.deepEqual(after(state, attempted(first, answered(200))), { state, changes: [], effects: [] });
  t.deepEqual(after(state, { type: 'deliveries-stored' }, loadedBy(1, [second])).effects, []);
});

test('a try that this admin was not allowed to make counts for nothing, and holds up its subject until the rows are read', (t) => {
  const [first, second] = [delivery(1, { subject: SAME }), delivery(2, { subject: SAME })];

  const withheld = after(webhook([posting(first), second]), attempted(first, null));

  t.deepEqual([withheld.changes, withheld.effects], [[], []]);
  t.deepEqual(postedBy(after(withheld.state, { type: 'deliveries-stored' }, loadedBy(1, [])).effects), []);
});

test('after a refused write the rows say what became of the delivery, and its subject waits for that', (t) => {
  const [first, second] = [delivery(1, { subject: SAME }), delivery(2, { subject: SAME })];
  const begun = webhook([posting(first), second]);
  const decided = after(begun, attempted(first, answered(503)));
  const write = decided.changes[0]!.write;
  const reread = behaviour.refreshed(decided.state, unloaded(RECORD));
  t.deepEqual(behaviour.recoveryEffects(reread, NOW_MS), [
    { type: 'load-deliveries', load: 1, after: null, limit: WINDOW_DELIVERIES_MAX },
  ]);

  const refused = after(reread, { type: 'refused', write, refusal: refuse('conflict', 'no').refusal });
  t.deepEqual(refused.effects, []);
  const open = after(refused.state, loadedBy(1, [delivery(1, { subject: SAME, attempts: 2 }), second]));
  const over = after(refused.state, loadedBy(1, [second]));
  const unread = after(refused.state, loadedBy(1, [], true));

  t.deepEqual(
    open.effects.flatMap((effect) => (effect.type === 'post' ? [[effect.delivery.id, effect.delivery.attempts]] : [])),
    [[first.id, 2]],
  );
  t.deepEqual(postedBy(over.effects), [second.id]);
  t.deepEqual(postedBy(unread.effects), []);
});

test('one whose creation was in doubt, and stored after all, takes its record from the rows', (t) => {
  const initialState = { ...unloaded(RECORD), record: null, supply: 'idle' as const };

  const found = behaviour.refreshed(initialState, unloaded(RECORD));

  t.deepEqual(found.record, RECORD);
  t.is(behaviour.recoveryEffects(found, NOW_MS).length, 1);
});

test('a live one has nothing to recover but what is to be read', (t) => {
  for (const supply of ['idle', 'more', 'loading', 'loading-again'] as const)
    t.deepEqual(behaviour.recoveryEffects(webhook([posting(delivery(1))], { supply }), NOW_MS), []);
});

test('news of a delivery that is not there changes nothing', (t) => {
  const state = webhook([delivery(1)]);

  for (const message of [
    attempted(delivery(2), answered(200)),
    attempted(delivery(1), answered(200)),
    { type: 'delivery-due', delivery: delivery(1).id },
    { type: 'delivery-due', delivery: delivery(2).id },
  ] as const) {
    t.is(after(state, message).state, state, message.type);
  }
});

test('one that is read once more takes its place in the order of events', (t) => {
  const [first, second, third] = [9, 10, 11].map((number) => delivery(number, { subject: SAME })) as [
    ReturnType<typeof delivery>,
    ReturnType<typeof delivery>,
    ReturnType<typeof delivery>,
  ];
  const decided = after(webhook([posting(first), second, third]), attempted(first, answered(200)));
  const reread = behaviour.refreshed(decided.state, unloaded(RECORD));
  t.deepEqual(postedBy(decided.effects), [second.id]);

  const { state } = after(
    reread,
    { type: 'refused', write: decided.changes[0]!.write, refusal: refuse('conflict', 'no').refusal },
    loadedBy(1, [first, second, third]),
  );

  t.deepEqual(
    state.window.map(({ ref, phase }) => [ref.id, phase]),
    [
      [first.id, 'ready'],
      [second.id, 'posting'],
      [third.id, 'ready'],
    ],
  );
});
