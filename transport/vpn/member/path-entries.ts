/** How a path comes into each of its states: pure. */
import {
  ATTEMPT_MS,
  SECOND_HANDSHAKE_MS,
  SECOND_MESSAGE_MS,
  SESSION_MS_MAX,
  SETTLE_MS,
  TRY_AGAIN_MS,
  TRY_MS_MIN,
} from './limits.ts';
import {
  type Way,
  RELAY,
  type PathReading,
  type Known,
  type None,
  type Trying,
  type PathState,
  type PathEffect,
  type PathStep,
} from './path-state.ts';

/** The next state, and what it asks for. */
export function step(state: PathState, ...effects: readonly PathEffect[]): PathStep {
  return { state, effects };
}

/** Of a message or a state that there is none of. */
export function unreachable(message: never): never {
  throw new Error(`no such message: ${(message as { type: string }).type}`);
}

/** Speak to the peer there; `isKicked`: and at once. */
export const use = (way: Way, isSentNow: boolean): PathEffect => ({ type: 'use', way, isSentNow });

/** The way to an endpoint. */
export const direct = (endpoint: string): Way => ({ kind: 'direct', endpoint });

/** What every state has, of this one. */
export function knownOf({
  candidates,
  hasRelay,
  isFirst,
  sinceMs,
  dueMs,
  last,
  failures,
  triedAtMs,
}: PathState): Known {
  return { candidates, hasRelay, isFirst, sinceMs, dueMs, last, failures, triedAtMs };
}

/** Whether keys are in force: younger than WireGuard lets them be. */
export function hasSession({ handshakeAgeMs }: PathReading): boolean {
  return handshakeAgeMs !== null && handshakeAgeMs < SESSION_MS_MAX;
}

/** Ways to a peer from which nothing is heard, in order. */
export function waysOf({ hasRelay, candidates }: Known): readonly Way[] {
  return [...(hasRelay ? [RELAY] : []), ...candidates.map(direct)];
}

/** How long a path waits after so many tries in vain, one after another, in ms. */
export function waitAfter(failures: number): number {
  return TRY_AGAIN_MS[Math.min(failures, TRY_AGAIN_MS.length) - 1] ?? 0;
}

/** When a try may begin again, by the clock of `nowMs`. */
export function mayTryAtMs(state: PathState): number {
  return Math.max(state.triedAtMs ?? -Infinity, state.path === 'direct' ? state.sinceMs : -Infinity) + TRY_MS_MIN;
}

/** Nothing is heard (any more): the first way. The second side waits, as two handshakes that cross lead nowhere. */
export function begin(known: Known, isSentNow: boolean, nowMs: number): PathStep {
  const [first] = waysOf(known);
  const state: None = {
    ...known,
    path: 'none',
    attempt: 0,
    sinceMs: nowMs,
    dueMs: first === undefined ? Infinity : nowMs + (isSentNow ? ATTEMPT_MS : SECOND_HANDSHAKE_MS),
  };
  if (first === undefined) return step(state);
  return step(isSentNow ? state : { ...state, attempt: -1 }, use(first, isSentNow));
}

/** Over the relay; after `afterMs` it tries to get direct. */
export function relayed(known: Known, afterMs: number, nowMs: number, ...effects: readonly PathEffect[]): PathStep {
  const dueMs = nowMs + afterMs + (known.isFirst ? 0 : SECOND_MESSAGE_MS);
  return step({ ...known, path: 'relayed', sinceMs: nowMs, dueMs, askedAtMs: null }, ...effects);
}

/** It is proven: packets go to the endpoint. */
export function becomeDirect(
  known: Known,
  endpoint: string,
  nowMs: number,
  ...effects: readonly PathEffect[]
): PathStep {
  return step(
    {
      ...known,
      path: 'direct',
      endpoint,
      silentSinceMs: null,
      isBusy: false,
      talkedAtMs: -Infinity,
      isAsked: false,
      sinceMs: nowMs,
      dueMs: Infinity,
    },
    ...effects,
  );
}

/** Both hear each other. */
export function commit(state: Trying, endpoint: string, nowMs: number, ...effects: readonly PathEffect[]): PathStep {
  return becomeDirect(
    { ...knownOf(state), triedAtMs: nowMs },
    endpoint,
    nowMs,
    ...effects,
    use(direct(endpoint), true),
    { type: 'settle', endpoint, forMs: SETTLE_MS },
  );
}

/** Both begin then. Until it is proven that packets arrive directly they are relayed. */
export function tryAt(state: PathState, startMs: number, nowMs: number, ...effects: readonly PathEffect[]): PathStep {
  const trying: Trying = {
    ...knownOf(state),
    path: 'trying',
    startMs,
    probe: 0,
    heardAt: null,
    isHeard: false,
    sinceMs: nowMs,
    dueMs: startMs,
    triedAtMs: nowMs,
  };
  return step(trying, ...(state.path === 'relayed' ? [] : [use(RELAY, false)]), ...effects);
}
