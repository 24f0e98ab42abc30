/** The window over a webhook's unfinished deliveries: who may be posted now, and when more are loaded. Pure. */
import type { Effect } from '../kit/step.ts';
import type { DeliveryRef } from './delivery.ts';
import { WINDOW_DELIVERIES_MAX, type WebhookState, type Windowed } from './state.ts';

/** What a step of the window comes to. */
export interface Moved {
  readonly state: WebhookState;
  readonly effects: readonly Effect[];
}

/** Puts loaded deliveries behind those that are there. One that is there already, asked for by hand, stays as it is. */
export function loaded(state: WebhookState, deliveries: readonly DeliveryRef[], more: boolean): WebhookState {
  const known = new Set(state.window.map(({ ref }) => ref.id));
  const fresh = deliveries.filter(({ id }) => !known.has(id)).map((ref): Windowed => ({ ref, phase: 'ready', isRedelivery: false }));
  return { ...state, window: [...state.window, ...fresh], loadedTo: deliveries.at(-1)?.cursor ?? state.loadedTo, supply: more || state.supply === 'loading-again' ? 'more' : 'idle' };
}

/** The window with one delivery replaced. */
export function withPhase(state: WebhookState, id: string, phase: Windowed['phase'], ref?: DeliveryRef): WebhookState {
  return { ...state, window: state.window.map((one) => (one.ref.id === id ? { ...one, phase, ref: ref ?? one.ref } : one)) };
}

/** The window without one delivery. */
export function without(state: WebhookState, id: string): WebhookState {
  return { ...state, window: state.window.filter(({ ref }) => ref.id !== id) };
}

/**
 * Starts what may start: of each subject the oldest delivery alone, `concurrency` at a time, those that wait for their time by a reminder;
 * and asks for more when the window runs low.
 */
export function advanced(state: WebhookState, concurrency: number, nowMs: number): Moved {
  const { record } = state;
  if (record === null) return { state, effects: [] };
  const effects: Effect[] = [];
  const held = new Set<string>();
  let posting = state.window.filter(({ phase }) => phase === 'posting').length;
  let isChanged = false;
  const window = state.window.map((one): Windowed => {
    const isFree = one.isRedelivery || !held.has(one.ref.subject);
    if (!one.isRedelivery) held.add(one.ref.subject);
    if (one.phase !== 'ready' || !isFree) return one;
    if (one.ref.dueAtMs !== null && one.ref.dueAtMs > nowMs) {
      effects.push({ type: 'remind', key: one.ref.id, afterMs: one.ref.dueAtMs - nowMs, message: { type: 'delivery-due', delivery: one.ref.id } });
      isChanged = true;
      return { ...one, phase: 'waiting' };
    }
    if (posting >= concurrency) return one;
    posting += 1;
    effects.push({ type: 'post', webhook: record, delivery: one.ref });
    isChanged = true;
    return { ...one, phase: 'posting' };
  });
  const moved = isChanged ? { ...state, window } : state;
  return moved.supply === 'more' && window.length <= WINDOW_DELIVERIES_MAX / 2 ? supplied(moved, effects) : { state: moved, effects };
}

function supplied(state: WebhookState, effects: readonly Effect[]): Moved {
  return {
    state: { ...state, supply: 'loading' },
    effects: [...effects, { type: 'load-deliveries', after: state.loadedTo, limit: WINDOW_DELIVERIES_MAX - state.window.length }],
  };
}
