/**
 * How it goes to one peer: pure. Packets are relayed first; a direct path is proven in both directions before it is
 * used, and left as soon as it is silent.
 */
import { ATTEMPT_MS, ATTEMPT_MS_MAX, SECOND_MESSAGE_MS, TRY_MOVED_MS } from './limits.ts';
import { read } from './path-readings.ts';
import {
  RELAY,
  type Known,
  type None,
  type PathState,
  type PathMessage,
  type PathStep,
  type Met,
} from './path-state.ts';
import {
  step,
  unreachable,
  use,
  knownOf,
  hasSession,
  waysOf,
  waitAfter,
  begin,
  relayed,
  direct,
} from './path-entries.ts';
import { asked, answered, agreed, heard, ask, nextProbe } from './path-tries.ts';

/** A path to a peer that was just met. One that an earlier run left direct and alive stays as it is. */
export function meet({ candidates, hasRelay, isFirst, reading }: Met, nowMs: number): PathStep {
  const known: Known = {
    candidates,
    hasRelay,
    isFirst,
    sinceMs: nowMs,
    dueMs: Infinity,
    last: reading,
    failures: 0,
    triedAtMs: null,
  };
  if (reading !== null && hasSession(reading) && reading.way?.kind === 'direct')
    return step({
      ...known,
      path: 'direct',
      endpoint: reading.way.endpoint,
      silentSinceMs: null,
      isBusy: false,
      talkedAtMs: -Infinity,
      isAsked: false,
    });
  return begin(known, isFirst, nowMs);
}

/** What a path does with one message. Pure and total; nothing changed: the same reference. */
export function transition(state: PathState, message: PathMessage, nowMs: number): PathStep {
  switch (message.type) {
    case 'read':
      return read(state, message.reading, nowMs);
    case 'relay-opened':
      return relayOpened(state, nowMs);
    case 'relay-lost':
      return relayLost(state, nowMs);
    case 'candidates-changed':
      return candidatesChanged(state, message.candidates, nowMs);
    case 'asked':
      return asked(state, nowMs);
    case 'answered':
      return answered(state, message.inMs, nowMs);
    case 'agreed':
      return agreed(state, message.inMs, nowMs);
    case 'heard':
      return heard(state, nowMs);
    case 'moved':
      return moved(state, nowMs);
    case 'time-passed':
      return nowMs < state.dueMs ? step(state) : due(state, nowMs);
    default:
      return unreachable(message);
  }
}

function relayOpened(state: PathState, nowMs: number): PathStep {
  if (state.hasRelay) return step(state);
  const next = { ...state, hasRelay: true };
  return next.path === 'none' ? begin(knownOf(next), next.isFirst, nowMs) : step(next);
}

function relayLost(state: PathState, nowMs: number): PathStep {
  if (!state.hasRelay) return step(state);
  const next = { ...state, hasRelay: false };
  return next.path === 'direct' ? step(next) : begin(knownOf(next), true, nowMs);
}

function candidatesChanged(state: PathState, candidates: readonly string[], nowMs: number): PathStep {
  const isSame =
    candidates.length === state.candidates.length && candidates.every((one, index) => one === state.candidates[index]);
  if (isSame) return step(state);
  const next = { ...state, candidates };
  // It is there no more, and whoever is behind its NAT now would not be let in: the relay knows where it is.
  const isGone =
    next.path === 'direct' &&
    next.hasRelay &&
    state.candidates.includes(next.endpoint) &&
    !candidates.includes(next.endpoint);
  if (isGone) return relayed({ ...knownOf(next), failures: 0 }, TRY_MOVED_MS, nowMs, use(RELAY, true));
  return next.path === 'none' && !next.hasRelay ? begin(knownOf(next), true, nowMs) : soon(next, nowMs);
}

/** Tries again before long, whatever was in vain before. */
function soon(state: PathState, nowMs: number): PathStep {
  if (state.path === 'trying' || state.path === 'direct') return step(state);
  const dueMs = Math.min(state.dueMs, nowMs + TRY_MOVED_MS + (state.isFirst ? 0 : SECOND_MESSAGE_MS));
  return step({ ...state, failures: 0, dueMs });
}

function moved(state: PathState, nowMs: number): PathStep {
  // The peer learns the new address from the next packet: it is sent now.
  if (state.path === 'direct') return step(state, use(direct(state.endpoint), true));
  return soon(state, nowMs);
}

function due(state: PathState, nowMs: number): PathStep {
  switch (state.path) {
    case 'none':
      return nextAttempt(state, nowMs);
    case 'relayed':
      return ask(state, nowMs);
    case 'trying':
      return nextProbe(state, nowMs);
    case 'direct':
      return step({ ...state, dueMs: Infinity });
    default:
      return unreachable(state);
  }
}

function nextAttempt(state: None, nowMs: number): PathStep {
  const ways = waysOf(state);
  const way = ways[state.attempt + 1];
  // Without a relay each round is slower than the one before: many peers may be away for long, and each comes to this
  // side when it is back.
  const attemptMs = state.hasRelay ? ATTEMPT_MS : Math.min(ATTEMPT_MS * 2 ** state.failures, ATTEMPT_MS_MAX);
  if (way !== undefined)
    return step({ ...state, attempt: state.attempt + 1, dueMs: nowMs + attemptMs }, use(way, true));
  const [first] = ways;
  if (first === undefined) return step({ ...state, dueMs: Infinity });
  // All were in vain. With a relay this side waits there, where the peer will look for it; without one it goes on, as
  // the peer may be anywhere.
  const failures = state.failures + 1;
  if (!state.hasRelay)
    return step(
      { ...state, attempt: 0, failures, dueMs: nowMs + Math.min(attemptMs * 2, ATTEMPT_MS_MAX) },
      use(first, true),
    );
  return step({ ...state, attempt: 0, failures, dueMs: nowMs + waitAfter(failures) }, use(RELAY, false));
}
