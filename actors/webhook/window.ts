/** The window over a webhook's unfinished deliveries: who may be sent now, and when more are loaded. Pure. */
import type { WebhookRecord } from '../records.ts';
import type { Effect } from '../step.ts';
import type { DeliveryRef } from './delivery.ts';
import { RETRY_AFTER_MS_MAX, RETRY_WAIT_MS_MAX } from './retry.ts';
import {
  AWAY_LOOK_MS_MAX,
  BEGUN_WHILE_AWAY_MAX,
  UNANSWERED_TRIES_MIN,
  WINDOW_DELIVERIES_MAX,
  type WebhookState,
  type Windowed,
} from './state.ts';

/**
 * An admin knows the clock of the database only as well as that answers in time, and a clock may be set a little: a
 * time that another admin stored may seem so much further away, in ms.
 */
const CLOCKS_APART_MS_MAX = 60_000;

/** No try waits longer, in ms: where one seems to, a clock was wrong when its time was stored, and it is due. */
const DUE_AFTER_MS_MAX = Math.max(RETRY_WAIT_MS_MAX, RETRY_AFTER_MS_MAX) + CLOCKS_APART_MS_MAX;

/** What a step of the window comes to. */
export interface Moved {
  readonly state: WebhookState;
  readonly effects: readonly Effect[];
}

/** What a load brought. */
export interface Load {
  readonly load: number;
  readonly deliveries: readonly DeliveryRef[];
  readonly more: boolean;
}

/**
 * Puts loaded deliveries among those that are there, in order. One that is there already stays as it is, and an
 * `unsure` one is as its row says. News of an earlier load change nothing.
 */
export function loaded(state: WebhookState, { load, deliveries, more }: Load): WebhookState {
  if (load !== state.load || state.supply === 'idle' || state.supply === 'more') return state;
  const last = deliveries.at(-1)?.cursor ?? null;
  const finished = new Set(state.finished);
  const found = new Map(deliveries.filter(({ id }) => !finished.has(id)).map((ref) => [ref.id, ref]));
  const wasRead = (cursor: string): boolean =>
    (state.loadedTo === null || isBehind(cursor, state.loadedTo)) &&
    (!more || (last !== null && !isBehind(cursor, last)));
  const known = state.window.flatMap((one): Windowed[] => {
    if (one.phase !== 'unsure') return [one];
    const ref = found.get(one.ref.id);
    if (ref !== undefined) return [{ ...one, ref, phase: 'ready' }];
    return wasRead(one.ref.cursor) ? [] : [one];
  });
  for (const { ref } of known) found.delete(ref.id);
  const fresh = [...found.values()].map((ref): Windowed => ({ ref, phase: 'ready', isRedelivery: false }));
  return {
    ...state,
    window: inOrder([...known, ...fresh]),
    loadedTo: last ?? state.loadedTo,
    supply: more || state.supply === 'loading-again' ? 'more' : 'idle',
    finished: [],
  };
}

/**
 * Those asked for by hand first, as they are; the others in the order of their events: read once more, an older one may
 * come back.
 */
function inOrder(window: readonly Windowed[]): readonly Windowed[] {
  const byEvents = window
    .filter(({ isRedelivery }) => !isRedelivery)
    .toSorted((a, b) => (isBehind(a.ref.cursor, b.ref.cursor) ? 1 : -1));
  return [...window.filter(({ isRedelivery }) => isRedelivery), ...byEvents];
}

/**
 * Whether the event at one cursor is behind that at another, in the order of commits. Cursors are pairs of decimal
 * numbers, `<txid>-<seq>`.
 */
export function isBehind(cursor: string, other: string): boolean {
  const [txid = '', seq = ''] = cursor.split('-');
  const [otherTxid = '', otherSeq = ''] = other.split('-');
  return isGreater(txid, otherTxid) || (txid === otherTxid && isGreater(seq, otherSeq));
}

function isGreater(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

/** The window with one delivery replaced. */
export function withPhase(state: WebhookState, id: string, phase: Windowed['phase'], ref?: DeliveryRef): WebhookState {
  return {
    ...state,
    window: state.window.map((one) => (one.ref.id === id ? { ...one, phase, ref: ref ?? one.ref } : one)),
  };
}

/** The window without a delivery that is finished. */
export function without(state: WebhookState, id: string): WebhookState {
  const isLoading = state.supply !== 'idle' && state.supply !== 'more';
  return {
    ...state,
    window: state.window.filter(({ ref }) => ref.id !== id),
    finished: isLoading ? [...state.finished, id] : state.finished,
  };
}

/**
 * Starts what may start: of each subject the oldest delivery alone, `concurrency` at a time, those that wait for their
 * time by a reminder, and of a receiver that is away no more than BEGUN_WHILE_AWAY_MAX; and asks for more when the
 * window runs low, or holds `unsure` ones that are not read yet. Looks no further than there is room: this runs after
 * every batch of tries.
 */
export function advanced(state: WebhookState, concurrency: number, nowMs: number): Moved {
  const { record, window } = state;
  if (record === null) return { state, effects: [] };
  const effects: Effect[] = [];
  const held = new Set<string>();
  let room = concurrency;
  let redeliveries = 0;
  let hasUnread = false;
  let begun = 0;
  for (const { ref, phase, isRedelivery } of window) {
    if (isRedelivery) redeliveries += 1;
    else if (phase === 'unsure') hasUnread ||= state.loadedTo === null || isBehind(ref.cursor, state.loadedTo);
    if (!isRedelivery && isBegun(phase, ref, nowMs)) begun += 1;
    if (phase !== 'sending') continue;
    room -= 1;
    if (!isRedelivery) held.add(ref.subject);
  }
  let fresh = state.unanswered < UNANSWERED_TRIES_MIN ? Infinity : BEGUN_WHILE_AWAY_MAX - begun;
  let next: Windowed[] | null = null;
  for (let index = 0; index < window.length && room > 0; index += 1) {
    const one = window[index] as Windowed;
    const isHeld = !one.isRedelivery && held.has(one.ref.subject);
    if (!one.isRedelivery) held.add(one.ref.subject);
    if (one.phase !== 'ready' || isHeld) continue;
    if (!one.isRedelivery && one.ref.attempts === 0 && (fresh -= 1) < 0) continue;
    const waitMs = waitOf(one.ref, nowMs);
    if (waitMs <= 0) room -= 1;
    effects.push(
      waitMs > 0
        ? { type: 'remind', key: one.ref.id, afterMs: waitMs, message: { type: 'delivery-due', delivery: one.ref.id } }
        : { type: 'send-delivery', webhook: record, delivery: one.ref },
    );
    next ??= [...window];
    next[index] = { ...one, phase: waitMs > 0 ? 'waiting' : 'sending' };
  }
  const moved = next === null ? state : { ...state, window: next };
  const inOrderNow = window.length - redeliveries;
  const limit = Math.max(WINDOW_DELIVERIES_MAX / 2, WINDOW_DELIVERIES_MAX - inOrderNow);
  return moved.supply === 'more' && (hasUnread || inOrderNow <= WINDOW_DELIVERIES_MAX / 2)
    ? supplied(moved, record, effects, limit)
    : { state: moved, effects };
}

/** Whether it was begun, and its next try is not far away. */
function isBegun(phase: Windowed['phase'], ref: DeliveryRef, nowMs: number): boolean {
  return phase === 'sending' || (ref.attempts > 0 && waitOf(ref, nowMs) <= AWAY_LOOK_MS_MAX);
}

/** In ms; 0 or less: it is due. */
function waitOf({ dueAtMs }: DeliveryRef, nowMs: number): number {
  const waitMs = (dueAtMs ?? 0) - nowMs;
  return waitMs > DUE_AFTER_MS_MAX ? 0 : waitMs;
}

function supplied(
  state: WebhookState,
  { subscribedEvents }: WebhookRecord,
  effects: readonly Effect[],
  limit: number,
): Moved {
  const load = state.load + 1;
  return {
    state: { ...state, load, supply: 'loading' },
    effects: [...effects, { type: 'load-deliveries', load, subscribedEvents, after: state.loadedTo, limit }],
  };
}
