/** What a path makes of a reading of the interface: pure. A peer is found, is proven to be heard, and falls silent. */
import {
  ATTEMPT_MS,
  KEEPALIVE_BYTES,
  SETTLE_MS,
  SILENCE_MS_MAX,
  SILENCE_TALKING_MS_MAX,
  STEADY_MS,
  TALKED_MS_MAX,
  TRY_LOST_MS,
  TRY_MS_MIN,
} from './limits.ts';
import {
  RELAY,
  type PathReading,
  type None,
  type Relayed,
  type Trying,
  type Direct,
  type PathState,
  type PathEffect,
  type PathStep,
} from './path-state.ts';
import {
  step,
  unreachable,
  use,
  knownOf,
  hasSession,
  waitAfter,
  mayTryAtMs,
  begin,
  relayed,
  becomeDirect,
  commit,
  direct,
} from './path-entries.ts';

/** What was read of the interface. */
export function read(state: PathState, reading: PathReading, nowMs: number): PathStep {
  // Counters that fell belong to a peer that was removed and added again.
  const before =
    state.last !== null &&
    reading.receivedBytes >= state.last.receivedBytes &&
    reading.sentBytes >= state.last.sentBytes
      ? state.last
      : null;
  const receivedBytes = reading.receivedBytes - (before?.receivedBytes ?? 0);
  const isHeard = receivedBytes > 0;
  const next = { ...state, last: reading };
  switch (next.path) {
    case 'none':
      return isHeard || isNewSession(reading, state.last) ? found(next, reading, nowMs) : step(next);
    case 'relayed':
      return readRelayed(next, { reading, isHeard }, nowMs);
    case 'trying':
      return reading.way?.kind === 'direct' ? hearing(next, reading.way.endpoint, nowMs) : step(next);
    case 'direct':
      return readDirect(
        next,
        { reading, receivedBytes, sentBytes: reading.sentBytes - (before?.sentBytes ?? 0) },
        nowMs,
      );
    default:
      return unreachable(next);
  }
}

/** Something came from a peer that was not heard before. */
function found(state: None, reading: PathReading, nowMs: number): PathStep {
  const known = { ...knownOf(state), failures: 0 };
  if (reading.way === null) return step(state);
  // It began a handshake, which is not done: a message of this side would cross it. Should it lead nowhere, this side
  // goes on.
  if (!hasSession(reading)) return step({ ...state, dueMs: Math.max(state.dueMs, nowMs + ATTEMPT_MS) });
  if (reading.way.kind === 'direct') return becomeDirect(known, reading.way.endpoint, nowMs, use(reading.way, true));
  return state.hasRelay ? relayed(known, 0, nowMs) : step(state);
}

/** The bytes of a handshake may have been read before it was done. */
function isNewSession(reading: PathReading, last: PathReading | null): boolean {
  return (
    hasSession(reading) &&
    last !== null &&
    (last.handshakeAgeMs === null || last.handshakeAgeMs > (reading.handshakeAgeMs ?? 0))
  );
}

function readRelayed(
  state: Relayed,
  { reading, isHeard }: { readonly reading: PathReading; readonly isHeard: boolean },
  nowMs: number,
): PathStep {
  // Both see at about the same time that their session is over: as everywhere the first one speaks, unless the peer did
  // already.
  if (!hasSession(reading)) return begin(knownOf(state), state.isFirst && !isHeard, nowMs);
  if (reading.way?.kind === 'relay') return step(state);
  // Packets came directly although nothing was agreed. Whether this side's would arrive is not known: over the relay
  // they do, until both know.
  const isSoon = nowMs >= (state.triedAtMs ?? -Infinity) + TRY_MS_MIN && reading.way !== null;
  return step(isSoon ? { ...state, dueMs: Math.min(state.dueMs, nowMs) } : state, use(RELAY, false));
}

function hearing(state: Trying, endpoint: string, nowMs: number): PathStep {
  const said: PathEffect = { type: 'say', message: 'heard' };
  if (state.isHeard) return commit(state, endpoint, nowMs, said);
  return step({ ...state, heardAt: endpoint }, said, use(RELAY, false));
}

function readDirect(
  state: Direct,
  {
    reading,
    receivedBytes,
    sentBytes,
  }: { readonly reading: PathReading; readonly receivedBytes: number; readonly sentBytes: number },
  nowMs: number,
): PathStep {
  if (reading.way?.kind === 'relay') {
    if (nowMs < state.sinceMs + SETTLE_MS) return step(state, use(direct(state.endpoint), false));
    // The peer went back to the relay, and so did the interface.
    return state.hasRelay ? leave(state, nowMs) : step(state, use(direct(state.endpoint), true));
  }
  const endpoint = reading.way?.endpoint ?? state.endpoint;
  const isAsking = sentBytes > KEEPALIVE_BYTES;
  const silentSinceMs = receivedBytes > 0 ? null : (state.silentSinceMs ?? (isAsking ? nowMs : null));
  // While it is silent it is judged by how it was before: not by the last moment, in which nothing may have been said.
  const talkedAtMs = receivedBytes > KEEPALIVE_BYTES ? nowMs : state.talkedAtMs;
  const isTalking = silentSinceMs !== null && silentSinceMs - talkedAtMs <= TALKED_MS_MAX;
  // Who was talking is read often for a while: what TCP sends again into a path that was cut comes seconds apart.
  const next: Direct = {
    ...state,
    endpoint,
    silentSinceMs,
    isBusy: isAsking || nowMs - talkedAtMs < TALKED_MS_MAX,
    talkedAtMs,
  };
  if (silentSinceMs === null || nowMs - silentSinceMs < (isTalking ? SILENCE_TALKING_MS_MAX : SILENCE_MS_MAX))
    return step(next);
  return next.hasRelay ? leave(next, nowMs, use(RELAY, true)) : begin(knownOf(next), true, nowMs);
}

/** Back to the relay. */
function leave(state: Direct, nowMs: number, ...effects: readonly PathEffect[]): PathStep {
  const failures = nowMs - state.sinceMs >= STEADY_MS ? 0 : state.failures + 1;
  const afterMs = state.isAsked
    ? Math.max(0, mayTryAtMs(state) - nowMs)
    : failures === 0
      ? TRY_LOST_MS
      : waitAfter(failures);
  return relayed({ ...knownOf(state), failures }, afterMs, nowMs, ...effects);
}
