/** Receivers that answer nothing for long, deliveries whose events are gone, and batches of tries. */
import test from 'ava';
import type { Attempt } from '../../../../actors/webhook/delivery.ts';
import type { WebhookMessage } from '../../../../actors/webhook/messages.ts';
import {
  AWAY_LOOK_MS_MAX,
  BEGUN_WHILE_AWAY_MAX,
  UNANSWERED_TRIES_MIN,
  type WebhookState,
  type Windowed,
} from '../../../../actors/webhook/state.ts';
import { decideBatch } from '../../../../supervisors/runtime/batch.ts';
import { Mailbox } from '../../../../supervisors/runtime/mailbox.ts';
import { NOW_MS } from '../../../support/actors.ts';
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
  SETTINGS,
  webhook,
} from '../../../support/webhooks/webhook-actor.ts';

/** What the sender says of an event that is older than events are kept. */
const GONE: Attempt = { type: 'failed', atMs: NOW_MS, durationMs: 0, error: 'The event is gone.', isLasting: true };

/** What these messages come to that are decided together. */
function together(state: WebhookState, messages: readonly WebhookMessage[], of = behaviour) {
  const mailbox = new Mailbox<WebhookMessage>();
  for (const message of messages) mailbox.push(message);
  return decideBatch(of, state, mailbox, NOW_MS);
}

test(`of a receiver that answered none of ${UNANSWERED_TRIES_MIN} tries ${BEGUN_WHILE_AWAY_MAX} deliveries are begun at a time, until it answers`, (t) => {
  const all = Array.from({ length: UNANSWERED_TRIES_MIN + 40 }, (_, index) => delivery(index + 1, { attemptsMax: 2 }));
  const first = all.slice(0, UNANSWERED_TRIES_MIN);
  const begun = webhook([...first.map(sending), ...all.slice(UNANSWERED_TRIES_MIN)]);

  const away = together(
    begun,
    first.map((ref) => attempted(ref, FAILED)),
  );
  t.is(away.state.unanswered, UNANSWERED_TRIES_MIN);
  t.deepEqual(sentBy(away.effects), [], 'each that was begun has its tries first');

  // all but one of those that were begun are dropped after their last try: others may begin, and no more than that
  const last = first.slice(1).reduce(
    ({ state, sent }, ref) => {
      const due = decided(state, { type: 'delivery-due', delivery: ref.id }, NOW_MS + 500);
      const dropped = decided(due.state, attempted(ref, FAILED), NOW_MS + 500);
      return { state: dropped.state, sent: [...sent, ...sentBy(dropped.effects)] };
    },
    { state: away.state, sent: [] as readonly string[] },
  );
  t.deepEqual(
    last.sent.filter((one) => !first.some(({ id }) => id === one)),
    all.slice(UNANSWERED_TRIES_MIN, UNANSWERED_TRIES_MIN + SETTINGS.concurrency).map(({ id }) => id),
  );

  const answeredOne = decided(last.state, attempted(all[UNANSWERED_TRIES_MIN]!, answered(500)), NOW_MS + 501);
  t.is(answeredOne.state.unanswered, 0);
});

test('where those that were begun wait for long, another one finds out whether the receiver is back', (t) => {
  const waits = (number: number, ms: number): Windowed => ({
    ref: delivery(number, { attempts: 5, attemptsMax: 20, dueAtMs: NOW_MS + ms }),
    phase: 'waiting',
    isRedelivery: false,
  });
  const begun = (ms: number) => Array.from({ length: BEGUN_WHILE_AWAY_MAX }, (_, index) => waits(index + 1, ms));
  const away = (window: readonly Windowed[]) =>
    webhook([...window, delivery(20)], { supply: 'idle', unanswered: UNANSWERED_TRIES_MIN });
  const news = { type: 'deliveries-stored' } as const;

  t.deepEqual(sentBy(after(away(begun(AWAY_LOOK_MS_MAX)), news).effects), []);
  t.deepEqual(sentBy(after(away(begun(AWAY_LOOK_MS_MAX + 1)), news).effects), [delivery(20).id]);
});

test('a receiver that answers now and then is not away, nor is one of whose deliveries the events are gone', (t) => {
  const all = Array.from({ length: 2 * UNANSWERED_TRIES_MIN }, (_, index) => delivery(index + 1));
  const begun = webhook(all.map(sending));

  const failing = after(begun, ...all.map((ref, index) => attempted(ref, index % 2 === 0 ? FAILED : answered(503))));
  t.true(failing.state.unanswered < 2);
  const gone = after(begun, ...all.map((ref) => attempted(ref, GONE)));
  t.deepEqual([gone.state.unanswered, gone.state.window.length], [0, 0]);
});

test('a delivery whose event is gone is dropped at once, with the one try that says so', (t) => {
  const one = delivery(1, { attemptsMax: 5 });

  const { changes, state } = after(webhook([sending(one)]), attempted(one, GONE));

  t.like(changes[0]?.write, { kind: 'delivery-attempted', number: 1, status: 'dropped', attempt: GONE });
  t.deepEqual(state.window, []);
});

test('the window is looked through once for all tries of a batch', (t) => {
  const all = Array.from({ length: 12 }, (_, index) => delivery(index + 1));
  const waiting = Array.from({ length: 12 }, (_, index) => delivery(20 + index));
  let looks = 0;
  const counting = {
    ...behaviour,
    settled: (state: WebhookState, nowMs: number) => {
      looks += 1;
      return behaviour.settled!(state, nowMs);
    },
  };

  const tries = all.map((ref) => attempted(ref, answered(204)));
  const batch = together(webhook([...all.map(sending), ...waiting]), tries, counting);

  t.deepEqual([looks, batch.messages.length, batch.changes.length], [1, 12, 12]);
  t.deepEqual(
    sentBy(batch.effects),
    waiting.slice(0, SETTINGS.concurrency).map(({ id }) => id),
  );
});
