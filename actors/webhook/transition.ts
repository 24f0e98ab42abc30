/** The behaviour of a webhook: it delivers events in order, remembers each try, and ends at once when it is deleted. */
import type { Behaviour } from '../behaviour.ts';
import { type Change, type Effect, type Step, answer, refuse, step, unchanged, unreachable } from '../step.ts';
import { idempotencyRecord } from '../node/administration.ts';
import type { WebhookRecord } from '../records.ts';
import { ok, type Refusal } from '../refusal.ts';
import type { Attempt, DeliveryRef, Unstored } from './delivery.ts';
import type { Write } from '../writes.ts';
import type { WebhookMessage } from './messages.ts';
import { verdictOf } from './retry.ts';
import {
  DELIVERY_TRIES_MAX,
  REDELIVERIES_MAX,
  UNANSWERED_TRIES_MIN,
  WINDOW_DELIVERIES_MAX,
  type WebhookState,
} from './state.ts';
import { advanced, loaded, withPhase, without, type Load } from './window.ts';
import { instant } from '../resources/instant.ts';
import type { WebhookResource } from '../resources/webhook.ts';

type WriteOf<K extends Write['kind']> = Extract<Write, { kind: K }>;
type MessageOf<T extends WebhookMessage['type']> = Extract<WebhookMessage, { type: T }>;

/** What a webhook's behaviour depends on besides its state. */
export interface WebhookSettings {
  /**
   * Deliveries handed over at once. WEBHOOK_CONCURRENCY of them are on their way; the others go when one of those is
   * through, without waiting until it is stored.
   */
  readonly concurrency: number;
  /** Wait before the second try, in ms: WEBHOOK_RETRY_BASE_MS. */
  readonly retryBaseMs: number;
}

const NOT_FOUND: Refusal = { code: 'not_found', message: 'Resource not found' };
const STILL_PENDING: Refusal = { code: 'conflict', message: 'The delivery has not finished yet.' };
const TRIED_OUT: Refusal = {
  code: 'conflict',
  message: `It was tried ${DELIVERY_TRIES_MAX} times, and is not sent again.`,
};
const TOO_MANY: Refusal = {
  code: 'rate_limited',
  message: `${REDELIVERIES_MAX} deliveries of this webhook wait to be sent again. Try again when some are through.`,
  retryAfterSeconds: 10,
};

/** What a webhook does with one message. Pure: `nowMs` is Unix time in ms. */
export function webhookBehaviour(settings: WebhookSettings): Behaviour<WebhookState, WebhookMessage> {
  return {
    transition: (state, message, nowMs) => transition(state, message, settings, nowMs),
    // once for all tries of a batch: it looks through the whole window
    settled(state, nowMs) {
      if (!state.isMoving) return unchanged(state);
      const moved = advanced({ ...state, isMoving: false }, settings.concurrency, nowMs);
      return step(moved.state, [], moved.effects);
    },
    // Only what is to be read: whoever lives already has its requests and reminders under way.
    recoveryEffects: (state) =>
      state.supply === 'unloaded' && state.record !== null
        ? [
            {
              type: 'load-deliveries',
              load: state.load,
              subscribedEvents: state.record.subscribedEvents,
              after: null,
              limit: WINDOW_DELIVERIES_MAX,
            },
          ]
        : [],
    // A write was refused, or nobody knows whether it was stored: deliveries are read once more, from the beginning.
    refreshed: (live, rows) => ({
      ...live,
      record: live.record ?? rows.record,
      loadedTo: null,
      load: live.load + 1,
      supply: 'unloaded',
      finished: [],
    }),
  };
}

function transition(
  state: WebhookState,
  message: WebhookMessage,
  settings: WebhookSettings,
  nowMs: number,
): Step<WebhookState> {
  switch (message.type) {
    case 'create':
      return create(state, message, nowMs);
    case 'delete':
      return remove(state, message);
    case 'redeliver':
      return redeliver(state, message, nowMs);
    case 'deliveries-stored':
      return stored(state);
    case 'deliveries-loaded':
      return brought(state, message);
    case 'delivery-attempted':
      return attempted(state, message, settings, nowMs);
    case 'delivery-due':
      return state.window.some(({ ref, phase }) => ref.id === message.delivery && phase === 'waiting')
        ? moving(withPhase(state, message.delivery, 'ready'))
        : unchanged(state);
    case 'refused':
      return refused(state, message);
    default:
      return unreachable(message);
  }
}

/** What may be sent now is looked for when the batch is decided. */
function moving(
  state: WebhookState,
  { changes = [], effects = [] }: { readonly changes?: readonly Change[]; readonly effects?: readonly Effect[] } = {},
): Step<WebhookState> {
  return step(state.isMoving ? state : { ...state, isMoving: true }, changes, effects);
}

/** There are more deliveries than were loaded. Whoever knows that already has asked for them, or has enough. */
function stored(state: WebhookState): Step<WebhookState> {
  if (state.supply === 'more' || state.supply === 'loading-again') return unchanged(state);
  return state.supply === 'idle'
    ? moving({ ...state, supply: 'more' })
    : step({ ...state, supply: 'loading-again' }, []);
}

/** A load came. One that is older than another changes nothing. */
function brought(state: WebhookState, load: Load): Step<WebhookState> {
  const next = loaded(state, load);
  return next === state ? unchanged(state) : moving(next);
}

function attempted(
  state: WebhookState,
  { delivery: id, attempt, random }: MessageOf<'delivery-attempted'>,
  settings: WebhookSettings,
  nowMs: number,
): Step<WebhookState> {
  const ref = state.window.find((one) => one.ref.id === id && one.phase === 'sending')?.ref;
  if (ref === undefined) return unchanged(state);
  // Another admin delivers now, and finds it among its rows; or this one again, and then it starts from them.
  if (attempt === null) return step(withPhase(state, id, 'unsure'), []);
  const { status, nextAttemptAtMs } = verdictOf(ref, attempt, settings.retryBaseMs, random, nowMs);
  const outcome = { delivery: id, attempt, status, nextAttemptAtMs, atMs: nowMs };
  const change = ref.unstored === null ? counted(ref, outcome) : made(state.id, ref, ref.unstored, outcome);
  const next =
    status === 'pending'
      ? withPhase(state, id, 'ready', { ...ref, attempts: ref.attempts + 1, dueAtMs: nextAttemptAtMs, unstored: null })
      : without(state, id);
  return moving({ ...next, unanswered: unansweredAfter(attempt, state.unanswered) }, { changes: [change] });
}

/** Tries in a row that nobody answered. One whose event is gone was sent to nobody. */
function unansweredAfter(attempt: Attempt, unanswered: number): number {
  if (attempt.type === 'answered') return 0;
  return attempt.isLasting === true ? unanswered : Math.min(UNANSWERED_TRIES_MIN, unanswered + 1);
}

/** What came of a try, to be stored. */
type TriedWrite = Omit<WriteOf<'delivery-attempted'>, 'kind' | 'number'>;

function counted(ref: DeliveryRef, outcome: TriedWrite): Change {
  return {
    write: { kind: 'delivery-attempted', number: ref.attempts + 1, ...outcome },
    events: [],
    notices: [],
  };
}

/** The delivery of this event is made with its first try. */
function made(
  webhook: string,
  { cursor, eventId, subject, attemptsMax }: DeliveryRef,
  unstored: Unstored,
  outcome: TriedWrite,
): Change {
  return {
    write: { kind: 'delivery-made', webhook, cursor, eventId, subject, attemptsMax, ...unstored, ...outcome },
    events: [],
    notices: [],
    onceStored: [{ type: 'delivery-stored', cursor }],
  };
}

function redeliver(
  state: WebhookState,
  { replyTo, delivery }: MessageOf<'redeliver'>,
  nowMs: number,
): Step<WebhookState> {
  if (state.window.some(({ ref }) => ref.id === delivery.id)) return step(state, [], [refuse(replyTo, STILL_PENDING)]);
  if (delivery.attempts >= DELIVERY_TRIES_MAX) return step(state, [], [refuse(replyTo, TRIED_OUT)]);
  if (state.window.filter(({ isRedelivery }) => isRedelivery).length >= REDELIVERIES_MAX)
    return step(state, [], [refuse(replyTo, TOO_MANY)]);
  const change: Change = {
    write: { kind: 'delivery-reopened', delivery: delivery.id, attempts: delivery.attempts, atMs: nowMs },
    events: [],
    notices: [],
  };
  const ref: DeliveryRef = { ...delivery, attemptsMax: delivery.attempts + 1, dueAtMs: null };
  return moving(
    { ...state, window: [{ ref, phase: 'ready', isRedelivery: true }, ...state.window] },
    {
      changes: [change],
      effects: [answer(replyTo, ok(null))],
    },
  );
}

/**
 * The rows know better: this try, or another in its place, was counted already. What becomes of the delivery is in its
 * row, and that is being read.
 */
function refused(state: WebhookState, { write }: MessageOf<'refused'>): Step<WebhookState> {
  if (write.kind !== 'delivery-attempted' && write.kind !== 'delivery-made') return unchanged(state);
  const isThere = state.window.some(({ ref }) => ref.id === write.delivery);
  const known: Effect[] = write.kind === 'delivery-made' ? [{ type: 'delivery-stored', cursor: write.cursor }] : [];
  return step(isThere ? withPhase(state, write.delivery, 'unsure') : state, [], known);
}

function create(state: WebhookState, message: MessageOf<'create'>, nowMs: number): Step<WebhookState> {
  const { replyTo, id, url, subscribedEvents, sealedSecret, sealedHeaders, idempotency } = message;
  if (state.record !== null)
    return step(state, [], [refuse(replyTo, { code: 'conflict', message: 'The webhook exists already.' })]);
  const record: WebhookRecord = { id, url, subscribedEvents, sealedSecret, sealedHeaders, insertedAtMs: nowMs };
  const resource = webhookResource(record);
  const change: Change = {
    write: { kind: 'webhook-created', id, url, subscribedEvents, sealedSecret, sealedHeaders, atMs: nowMs },
    events: [],
    notices: [],
    idempotencyRecord: idempotencyRecord(idempotency, resource),
  };
  return step({ ...state, record }, [change], [answer(replyTo, ok(resource))]);
}

/** What is under way is cut before the answer: nothing arrives after it (V2). */
function remove(state: WebhookState, { replyTo }: MessageOf<'delete'>): Step<WebhookState> {
  if (state.record === null) return step(state, [], [refuse(replyTo, NOT_FOUND), { type: 'stop' }]);
  const change: Change = { write: { kind: 'webhook-deleted', id: state.id }, events: [], notices: [] };
  return step(
    { ...state, record: null, window: [], supply: 'idle' },
    [change],
    [{ type: 'abort-deliveries' }, answer(replyTo, ok(null)), { type: 'stop' }],
  );
}

/**
 * The resource of a webhook: without its secret and headers (E4). It never changes, so both dates are that of its
 * creation.
 */
export function webhookResource(record: WebhookRecord): WebhookResource {
  const at = instant(record.insertedAtMs);
  return {
    id: record.id,
    url: record.url,
    subscribed_events: record.subscribedEvents,
    inserted_at: at,
    updated_at: at,
  };
}
