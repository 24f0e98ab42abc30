/**
 * Tries to get direct: pure. Both sides agree on a moment, over the relay, and then send to each other at once, so that
 * a try that fails loses nothing.
 */
import { AGREED_IN_MS, ANSWER_MS_MAX, PROBES, SECOND_HANDSHAKE_MS, TRY_MS_MAX } from './limits.ts';
import type { Relayed, Trying, PathState, PathStep } from './path-state.ts';
import { commit, knownOf, mayTryAtMs, relayed, step, tryAt, waitAfter } from './path-entries.ts';

/** The peer asks, over the relay, for a try. */
export function asked(state: PathState, nowMs: number): PathStep {
  if (!mayTry(state, nowMs)) return askedTooSoon(state, nowMs);
  return tryAt(state, nowMs + AGREED_IN_MS, nowMs, { type: 'say-agreed', inMs: AGREED_IN_MS });
}

/** Nobody can make a path change faster than this. */
function mayTry(state: PathState, nowMs: number): boolean {
  return state.path !== 'trying' && state.hasRelay && nowMs >= mayTryAtMs(state);
}

/** The peer hears no answer, and asks again only after longer and longer: this side asks as soon as it may. */
function askedTooSoon(state: PathState, nowMs: number): PathStep {
  if (state.path === 'direct') return step({ ...state, isAsked: true });
  if (state.path !== 'relayed' || state.askedAtMs !== null) return step(state);
  return step({ ...state, dueMs: Math.min(state.dueMs, Math.max(nowMs, mayTryAtMs(state))) });
}

/** The peer takes the try that it was asked for. */
export function answered(state: PathState, inMs: number, nowMs: number): PathStep {
  if (state.path !== 'relayed' || state.askedAtMs === null) return step(state);
  // The message took half of the way there and back.
  return tryAt(state, nowMs + Math.max(0, inMs - (nowMs - state.askedAtMs) / 2), nowMs);
}

/** Both were told to try in so many ms. */
export function agreed(state: PathState, inMs: number, nowMs: number): PathStep {
  if (state.path === 'none')
    return step({
      ...state,
      attempt: state.hasRelay ? 0 : -1,
      dueMs: nowMs + inMs + (state.isFirst ? 0 : SECOND_HANDSHAKE_MS),
    });
  return state.path === 'relayed' && mayTry(state, nowMs) ? tryAt(state, nowMs + inMs, nowMs) : step(state);
}

/** The peer says that it hears this side directly. */
export function heard(state: PathState, nowMs: number): PathStep {
  if (state.path !== 'trying') return step(state);
  return state.heardAt === null
    ? step({ ...state, isHeard: true })
    : commit({ ...state, isHeard: true }, state.heardAt, nowMs, { type: 'say', message: 'heard' });
}

/** Asks the peer for a try; where no answer came, whoever coordinates. */
export function ask(state: Relayed, nowMs: number): PathStep {
  if (state.askedAtMs === null)
    return step({ ...state, askedAtMs: nowMs, dueMs: nowMs + ANSWER_MS_MAX }, { type: 'say', message: 'ask' });
  const failures = state.failures + 1;
  return step({ ...state, askedAtMs: null, failures, dueMs: nowMs + waitAfter(failures) }, { type: 'want-try' });
}

/** The next packets of a try; after the last it was in vain. */
export function nextProbe(state: Trying, nowMs: number): PathStep {
  const probe = PROBES[state.probe];
  if (probe === undefined) {
    const failures = state.failures + 1;
    return relayed({ ...knownOf(state), failures }, waitAfter(failures), nowMs);
  }
  const after = PROBES[state.probe + 1];
  const endpoints = state.heardAt === null ? state.candidates : [state.heardAt];
  const dueMs = Math.max(nowMs + probe.waitMs + probe.listenMs, state.startMs + (after?.atMs ?? TRY_MS_MAX));
  // The best candidate last: what is heard last is what is seen.
  return step(
    { ...state, probe: state.probe + 1, dueMs },
    {
      type: 'probe',
      endpoints: endpoints.toReversed(),
      waitMs: state.isFirst ? 0 : probe.waitMs,
      listenMs: probe.listenMs,
    },
  );
}
