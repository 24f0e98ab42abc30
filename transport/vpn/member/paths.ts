/**
 * How it goes to one peer: pure. Packets are relayed first; a direct path is proven in both directions before it is
 * used, and left as soon as it is silent.
 */
import {
  AGREED_IN_MS,
  ANSWER_MS_MAX,
  ATTEMPT_MS,
  ATTEMPT_MS_MAX,
  KEEPALIVE_BYTES,
  KNOCKS,
  SECOND_HANDSHAKE_MS,
  SECOND_WORD_MS,
  SESSION_MS_MAX,
  SETTLE_MS,
  SILENCE_MS_MAX,
  SILENCE_TALKING_MS_MAX,
  STEADY_MS,
  TALKED_MS_MAX,
  TRY_AGAIN_MS,
  TRY_LOST_MS,
  TRY_MOVED_MS,
  TRY_MS_MAX,
  TRY_MS_MIN,
} from './limits.ts';

/** Where a peer is spoken to: over the relay, or at an endpoint such as `198.51.100.7:51820`. */
export type Way = { readonly kind: 'relay' } | { readonly kind: 'direct'; readonly endpoint: string };

/** The way over the relay. */
export const RELAY: Way = { kind: 'relay' };

/**
 * What the interface knows of the peer. `way` null: an endpoint that leads nowhere, or none. Bytes count from when the
 * peer was added.
 */
export interface PathReading {
  readonly way: Way | null;
  readonly handshakeAgeMs: number | null;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** What every state has. Times are of a monotonic clock, in ms. */
interface Known {
  /** Endpoints to try, best first. */
  readonly candidates: readonly string[];
  /** Whether a relay carries packets to the peer and back. */
  readonly hasRelay: boolean;
  /** Whether this side speaks first: the one with the smaller key. */
  readonly isFirst: boolean;
  readonly sinceMs: number;
  /** When it has something to do without being told. */
  readonly dueMs: number;
  readonly last: PathReading | null;
  /** Tries that led nowhere, one after another. */
  readonly failures: number;
  /** When a try began last, or led to a direct path. */
  readonly triedAtMs: number | null;
}

/** Nothing was heard: each way is used for a time, the relay first. `attempt` counts ways. */
interface None extends Known {
  readonly path: 'none';
  readonly attempt: number;
}
/** `askedAtMs`: the peer was asked for a try, and has not answered. */
interface Relayed extends Known {
  readonly path: 'relayed';
  readonly askedAtMs: number | null;
}
/**
 * Relayed, while both sides knock. `heardAt`: where the peer was heard from; `isHeard`: it says that it hears this
 * side.
 */
interface Trying extends Known {
  readonly path: 'trying';
  readonly startMs: number;
  readonly knock: number;
  readonly heardAt: string | null;
  readonly isHeard: boolean;
}
/**
 * `silentSinceMs`: something that has to be answered was sent, and nothing came since. `talkedAtMs`: when the peer sent
 * data last. `isAsked`: the peer, which lost the path, asked for a try sooner than it may.
 */
interface Direct extends Known {
  readonly path: 'direct';
  readonly endpoint: string;
  readonly silentSinceMs: number | null;
  readonly isBusy: boolean;
  readonly talkedAtMs: number;
  readonly isAsked: boolean;
}

/** The path to one peer. */
export type PathState = None | Relayed | Trying | Direct;

/** Everything that can be said to a path. */
export type PathMessage =
  | { readonly type: 'read'; readonly reading: PathReading }
  | { readonly type: 'relay-opened' | 'relay-lost' }
  | { readonly type: 'candidates-changed'; readonly candidates: readonly string[] }
  /** The peer asks, over the relay, for a try. */
  | { readonly type: 'asked' }
  /** The peer takes the try that it was asked for, `inMs` after it said so. */
  | { readonly type: 'answered'; readonly inMs: number }
  /** Both were told to try in so many ms. */
  | { readonly type: 'agreed'; readonly inMs: number }
  /** The peer says that it hears this side directly. */
  | { readonly type: 'heard' }
  /** The addresses of this machine changed, or it slept. */
  | { readonly type: 'moved' }
  | { readonly type: 'time-passed' };

/** What a path asks for. */
export type PathEffect =
  /** Speak to the peer there; `isKicked`: and at once. */
  | { readonly type: 'use'; readonly way: Way; readonly isKicked: boolean }
  /**
   * Listen for so long, then one packet to each of these, the last one last, all else over the relay; then listen
   * again.
   */
  | {
      readonly type: 'knock';
      readonly endpoints: readonly string[];
      readonly waitMs: number;
      readonly listenMs: number;
    }
  /** Words to the peer over the relay. */
  | { readonly type: 'say'; readonly word: 'ask' | 'heard' }
  | { readonly type: 'say-agreed'; readonly inMs: number }
  /** Whoever coordinates is asked to tell both sides. */
  | { readonly type: 'want-try' }
  /** What still comes by the relay comes late, for so long. */
  | { readonly type: 'settle'; readonly endpoint: string; readonly forMs: number };

/** The next state, and what it asks for. */
export interface PathStep {
  readonly state: PathState;
  readonly effects: readonly PathEffect[];
}

/** What is known of a peer when it is met. */
export interface Met {
  readonly candidates: readonly string[];
  readonly hasRelay: boolean;
  readonly isFirst: boolean;
  /** Of an interface that was taken over with its peers. */
  readonly reading: PathReading | null;
}

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

function step(state: PathState, ...effects: readonly PathEffect[]): PathStep {
  return { state, effects };
}

function unreachable(message: never): never {
  throw new Error(`no such message: ${(message as { type: string }).type}`);
}

const use = (way: Way, isKicked: boolean): PathEffect => ({ type: 'use', way, isKicked });
const direct = (endpoint: string): Way => ({ kind: 'direct', endpoint });

function knownOf({ candidates, hasRelay, isFirst, sinceMs, dueMs, last, failures, triedAtMs }: PathState): Known {
  return { candidates, hasRelay, isFirst, sinceMs, dueMs, last, failures, triedAtMs };
}

/** Ways to a peer from which nothing is heard, in order. */
function waysOf({ hasRelay, candidates }: Known): readonly Way[] {
  return [...(hasRelay ? [RELAY] : []), ...candidates.map(direct)];
}

/** Nothing is heard (any more): the first way. The second side waits, as two handshakes that cross lead nowhere. */
function begin(known: Known, isKicked: boolean, nowMs: number): PathStep {
  const [first] = waysOf(known);
  const state: None = {
    ...known,
    path: 'none',
    attempt: 0,
    sinceMs: nowMs,
    dueMs: first === undefined ? Infinity : nowMs + (isKicked ? ATTEMPT_MS : SECOND_HANDSHAKE_MS),
  };
  if (first === undefined) return step(state);
  return step(isKicked ? state : { ...state, attempt: -1 }, use(first, isKicked));
}

function relayed(known: Known, afterMs: number, nowMs: number, ...effects: readonly PathEffect[]): PathStep {
  const dueMs = nowMs + afterMs + (known.isFirst ? 0 : SECOND_WORD_MS);
  return step({ ...known, path: 'relayed', sinceMs: nowMs, dueMs, askedAtMs: null }, ...effects);
}

function waitAfter(failures: number): number {
  return TRY_AGAIN_MS[Math.min(failures, TRY_AGAIN_MS.length) - 1] ?? 0;
}

function becomeDirect(known: Known, endpoint: string, nowMs: number, ...effects: readonly PathEffect[]): PathStep {
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

function read(state: PathState, reading: PathReading, nowMs: number): PathStep {
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
  // It greets, and its handshake is not done: a word of this side would cross it. Should it lead nowhere, this side
  // goes on.
  if (!hasSession(reading)) return step({ ...state, dueMs: Math.max(state.dueMs, nowMs + ATTEMPT_MS) });
  if (reading.way.kind === 'direct') return becomeDirect(known, reading.way.endpoint, nowMs, use(reading.way, true));
  return state.hasRelay ? relayed(known, 0, nowMs) : step(state);
}

function hasSession({ handshakeAgeMs }: PathReading): boolean {
  return handshakeAgeMs !== null && handshakeAgeMs < SESSION_MS_MAX;
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
  const said: PathEffect = { type: 'say', word: 'heard' };
  if (state.isHeard) return commit(state, endpoint, nowMs, said);
  return step({ ...state, heardAt: endpoint }, said, use(RELAY, false));
}

/** Both hear each other. */
function commit(state: Trying, endpoint: string, nowMs: number, ...effects: readonly PathEffect[]): PathStep {
  return becomeDirect(
    { ...knownOf(state), triedAtMs: nowMs },
    endpoint,
    nowMs,
    ...effects,
    use(direct(endpoint), true),
    { type: 'settle', endpoint, forMs: SETTLE_MS },
  );
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
  const dueMs = Math.min(state.dueMs, nowMs + TRY_MOVED_MS + (state.isFirst ? 0 : SECOND_WORD_MS));
  return step({ ...state, failures: 0, dueMs });
}

function asked(state: PathState, nowMs: number): PathStep {
  if (!mayTry(state, nowMs)) return askedTooSoon(state, nowMs);
  return tryAt(state, nowMs + AGREED_IN_MS, nowMs, { type: 'say-agreed', inMs: AGREED_IN_MS });
}

/** Nobody can make a path change faster than this. */
function mayTry(state: PathState, nowMs: number): boolean {
  return state.path !== 'trying' && state.hasRelay && nowMs >= mayTryAtMs(state);
}

function mayTryAtMs(state: PathState): number {
  return Math.max(state.triedAtMs ?? -Infinity, state.path === 'direct' ? state.sinceMs : -Infinity) + TRY_MS_MIN;
}

/** The peer hears no answer, and asks again only after longer and longer: this side asks as soon as it may. */
function askedTooSoon(state: PathState, nowMs: number): PathStep {
  if (state.path === 'direct') return step({ ...state, isAsked: true });
  if (state.path !== 'relayed' || state.askedAtMs !== null) return step(state);
  return step({ ...state, dueMs: Math.min(state.dueMs, Math.max(nowMs, mayTryAtMs(state))) });
}

function answered(state: PathState, inMs: number, nowMs: number): PathStep {
  if (state.path !== 'relayed' || state.askedAtMs === null) return step(state);
  // The word took half of the way there and back.
  return tryAt(state, nowMs + Math.max(0, inMs - (nowMs - state.askedAtMs) / 2), nowMs);
}

function agreed(state: PathState, inMs: number, nowMs: number): PathStep {
  if (state.path === 'none')
    return step({
      ...state,
      attempt: state.hasRelay ? 0 : -1,
      dueMs: nowMs + inMs + (state.isFirst ? 0 : SECOND_HANDSHAKE_MS),
    });
  return state.path === 'relayed' && mayTry(state, nowMs) ? tryAt(state, nowMs + inMs, nowMs) : step(state);
}

/** Both begin then. Until it is proven that packets arrive directly they are relayed. */
function tryAt(state: PathState, startMs: number, nowMs: number, ...effects: readonly PathEffect[]): PathStep {
  const trying: Trying = {
    ...knownOf(state),
    path: 'trying',
    startMs,
    knock: 0,
    heardAt: null,
    isHeard: false,
    sinceMs: nowMs,
    dueMs: startMs,
    triedAtMs: nowMs,
  };
  return step(trying, ...(state.path === 'relayed' ? [] : [use(RELAY, false)]), ...effects);
}

function heard(state: PathState, nowMs: number): PathStep {
  if (state.path !== 'trying') return step(state);
  return state.heardAt === null
    ? step({ ...state, isHeard: true })
    : commit({ ...state, isHeard: true }, state.heardAt, nowMs, { type: 'say', word: 'heard' });
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
      return nextKnock(state, nowMs);
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

function ask(state: Relayed, nowMs: number): PathStep {
  if (state.askedAtMs === null)
    return step({ ...state, askedAtMs: nowMs, dueMs: nowMs + ANSWER_MS_MAX }, { type: 'say', word: 'ask' });
  const failures = state.failures + 1;
  return step({ ...state, askedAtMs: null, failures, dueMs: nowMs + waitAfter(failures) }, { type: 'want-try' });
}

function nextKnock(state: Trying, nowMs: number): PathStep {
  const knock = KNOCKS[state.knock];
  if (knock === undefined) {
    const failures = state.failures + 1;
    return relayed({ ...knownOf(state), failures }, waitAfter(failures), nowMs);
  }
  const after = KNOCKS[state.knock + 1];
  const endpoints = state.heardAt === null ? state.candidates : [state.heardAt];
  const dueMs = Math.max(nowMs + knock.waitMs + knock.listenMs, state.startMs + (after?.atMs ?? TRY_MS_MAX));
  // The best candidate last: what is heard last is what is seen.
  return step(
    { ...state, knock: state.knock + 1, dueMs },
    {
      type: 'knock',
      endpoints: endpoints.toReversed(),
      waitMs: state.isFirst ? 0 : knock.waitMs,
      listenMs: knock.listenMs,
    },
  );
}
