/** When a webhook sends its deliveries, and what becomes of each try. */
import test from 'ava';
import { RETRY_AFTER_MS_MAX } from '../../../../actors/webhook/retry.ts';
import { refuse } from '../../../../actors/refusal.ts';
import type { WebhookMessage } from '../../../../actors/webhook/messages.ts';
import {
  DELIVERY_TRIES_MAX,
  REDELIVERIES_MAX,
  unloaded,
  WINDOW_DELIVERIES_MAX,
} from '../../../../actors/webhook/state.ts';
import { answer, REPLY_TO, id, NOW_MS } from '../../../support/actors.ts';
import {
  after,
  answered,
  attempted,
  behaviour,
  decided,
  delivery,
  FAILED,
  sentBy,
  sending,
  RECORD,
  webhook,
} from '../../../support/webhooks/webhook-actor.ts';
import { SAME, loadedBy, numbers } from './fixture.ts';
import { ofType, writesOf } from '../../../support/steps.ts';
import { column } from '../../../support/database/columns.ts';

test('deliveries of different subjects are sent at once, as many as may be in flight', (t) => {
  const { state, effects } = after(
    webhook(),
    { type: 'deliveries-stored' },
    loadedBy(
      1,
      [1, 2, 3].map((number) => delivery(number)),
    ),
  );

  t.deepEqual(sentBy(effects), [id('d', 1), id('d', 2)]);
  t.deepEqual(column(state.window, 'phase'), ['sending', 'sending', 'ready']);
  t.deepEqual(sentBy(after(state, attempted(delivery(2), answered(200))).effects), [id('d', 3)]);
});

test('deliveries of one subject are sent one after another, also while the first waits for its next try (V2)', (t) => {
  const [first, second] = [delivery(1, { subject: SAME }), delivery(2, { subject: SAME })];
  const begun = after(webhook(), { type: 'deliveries-stored' }, loadedBy(1, [first, second]));
  t.deepEqual(sentBy(begun.effects), [first.id]);

  const failed = after(begun.state, attempted(first, answered(503)));
  t.deepEqual(failed.effects, [
    { type: 'remind', key: first.id, afterMs: 500, message: { type: 'delivery-due', delivery: first.id } },
  ]);
  const stored = after(failed.state, { type: 'deliveries-stored' });
  t.deepEqual(sentBy(stored.effects), []);

  const again = decided(stored.state, { type: 'delivery-due', delivery: first.id }, NOW_MS + 500);
  t.deepEqual(sentBy(again.effects), [first.id]);
  t.deepEqual(sentBy(decided(again.state, attempted(first, answered(204)), NOW_MS + 501).effects), [second.id]);
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

    const { state, changes } = after(webhook([sending(ref)]), attempted(ref, attempt));

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

  t.deepEqual(sentBy(effects), [early.id]);
  t.deepEqual(ofType(effects, 'remind'), [
    { type: 'remind', key: late.id, afterMs: 3_000, message: { type: 'delivery-due', delivery: late.id } },
  ]);
});

test('one whose time is further away than any try waits, and a minute, is due: the clock was ahead when it was stored', (t) => {
  const wishedMs = RETRY_AFTER_MS_MAX + 60_000; // by a clock that is a minute ahead
  const [ahead, honest] = [wishedMs + 1, wishedMs].map((waitMs, place) =>
    delivery(place + 1, { attempts: 1, dueAtMs: NOW_MS + waitMs }),
  );

  const { effects } = after(webhook(), { type: 'deliveries-stored' }, loadedBy(1, [ahead!, honest!]));

  t.deepEqual(sentBy(effects), [ahead?.id]);
  t.deepEqual(
    ofType(effects, 'remind').map(({ key, afterMs }) => [key, afterMs]),
    [[honest?.id, wishedMs]],
  );
});

test('sending again adds one more try, in no order, and holds up nobody', (t) => {
  const before = delivery(5, { subject: SAME });
  const old = delivery(1, { subject: SAME, attempts: 3, attemptsMax: 3, dueAtMs: null });

  const { state, changes, effects } = after(webhook([sending(before), delivery(6, { subject: SAME })]), {
    type: 'redeliver',
    replyTo: REPLY_TO,
    delivery: old,
  });

  t.deepEqual(writesOf({ changes }), [{ kind: 'delivery-reopened', delivery: old.id, attempts: 3, atMs: NOW_MS }]);
  t.deepEqual(effects[0], answer());
  t.deepEqual(sentBy(effects), [old.id]);
  const failed = after(state, attempted(old, FAILED));
  t.like(failed.changes[0]?.write, { number: 4, status: 'dropped' });
  t.deepEqual(sentBy(failed.effects), []); // its subject is still busy
});

test('sending again is refused while it has not finished, and when too many wait', (t) => {
  const old = delivery(1, { attempts: 3 });
  const redeliver: WebhookMessage = { type: 'redeliver', replyTo: REPLY_TO, delivery: old };
  const busy = webhook(
    numbers(1, REDELIVERIES_MAX).map((number) => ({ ref: delivery(100 + number), phase: 'ready', isRedelivery: true })),
  );

  t.like(after(webhook([sending(old)]), redeliver), {
    changes: [],
    effects: [{ result: { ok: false, refusal: { code: 'conflict' } } }],
  });
  t.like(after(busy, redeliver), {
    changes: [],
    effects: [{ result: { ok: false, refusal: { code: 'rate_limited' } } }],
  });
});

test('a delivery is sent again until it was tried as often as it may be', (t) => {
  const triedBefore = (attempts: number) =>
    after(webhook(), { type: 'redeliver', replyTo: REPLY_TO, delivery: delivery(1, { attempts }) });

  t.deepEqual(triedBefore(DELIVERY_TRIES_MAX - 1).effects[0], answer());
  t.like(triedBefore(DELIVERY_TRIES_MAX), {
    changes: [],
    effects: [
      {
        result: { ok: false, refusal: { code: 'conflict', message: 'It was tried 100 times, and is not sent again.' } },
      },
    ],
  });
});

test('a try that this admin was not allowed to make counts for nothing, and holds up its subject until the rows are read', (t) => {
  const [first, second] = [delivery(1, { subject: SAME }), delivery(2, { subject: SAME })];

  const withheld = after(webhook([sending(first), second]), attempted(first, null));

  t.deepEqual([withheld.changes, withheld.effects], [[], []]);
  t.deepEqual(sentBy(after(withheld.state, { type: 'deliveries-stored' }, loadedBy(1, [])).effects), []);
});

test('after a refused write the rows say what became of the delivery, and its subject waits for that', (t) => {
  const [first, second] = [delivery(1, { subject: SAME }), delivery(2, { subject: SAME })];
  const begun = webhook([sending(first), second]);
  const tried = after(begun, attempted(first, answered(503)));
  const write = tried.changes[0]!.write;
  const reread = behaviour.refreshed(tried.state, unloaded(RECORD));
  t.deepEqual(behaviour.recoveryEffects(reread, NOW_MS), [
    {
      type: 'load-deliveries',
      subscribedEvents: RECORD.subscribedEvents,
      load: 1,
      after: null,
      limit: WINDOW_DELIVERIES_MAX,
    },
  ]);

  const refused = after(reread, { type: 'refused', write, refusal: refuse('conflict', 'no').refusal });
  t.deepEqual(refused.effects, []);
  const open = after(refused.state, loadedBy(1, [delivery(1, { subject: SAME, attempts: 2 }), second]));
  const over = after(refused.state, loadedBy(1, [second]));
  const unread = after(refused.state, loadedBy(1, [], true));

  t.deepEqual(
    open.effects.flatMap((effect) =>
      effect.type === 'send-delivery' ? [[effect.delivery.id, effect.delivery.attempts]] : [],
    ),
    [[first.id, 2]],
  );
  t.deepEqual(sentBy(over.effects), [second.id]);
  t.deepEqual(sentBy(unread.effects), []);
});

test('a first try that is refused has a row: the event is not sent as one that has none', (t) => {
  const unstored = delivery(1, { unstored: { eventType: 'edge.core.test', storedAtMs: NOW_MS } });
  const made = after(webhook([sending(unstored)]), {
    type: 'delivery-attempted',
    delivery: unstored.id,
    attempt: answered(204),
    random: 0,
  });
  const { write, onceStored } = made.changes[0]!;
  t.like(write, { kind: 'delivery-made', cursor: unstored.cursor, status: 'delivered' });
  t.deepEqual(onceStored, [{ type: 'delivery-stored', cursor: unstored.cursor }]);

  const { refusal } = refuse('conflict', 'no');
  const refused = decided(made.state, { type: 'refused', write, refusal }, NOW_MS);

  t.deepEqual(refused.effects, [{ type: 'delivery-stored', cursor: unstored.cursor }]);
});
