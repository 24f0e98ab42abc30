/** The path to one peer: its states, what can be said to it, and what it asks for. */

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
export interface Known {
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
export interface None extends Known {
  readonly path: 'none';
  readonly attempt: number;
}

/** `askedAtMs`: the peer was asked for a try, and has not answered. */
export interface Relayed extends Known {
  readonly path: 'relayed';
  readonly askedAtMs: number | null;
}

/**
 * Relayed, while both sides probe. `heardAt`: where the peer was heard from; `isHeard`: it says that it hears this
 * side.
 */
export interface Trying extends Known {
  readonly path: 'trying';
  readonly startMs: number;
  readonly probe: number;
  readonly heardAt: string | null;
  readonly isHeard: boolean;
}

/**
 * `silentSinceMs`: something that has to be answered was sent, and nothing came since. `talkedAtMs`: when the peer sent
 * data last. `isAsked`: the peer, which lost the path, asked for a try sooner than it may.
 */
export interface Direct extends Known {
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
  | { readonly type: 'use'; readonly way: Way; readonly isSentNow: boolean }
  /**
   * Listen for so long, then one packet to each of these, the last one last, all else over the relay; then listen
   * again.
   */
  | {
      readonly type: 'probe';
      readonly endpoints: readonly string[];
      readonly waitMs: number;
      readonly listenMs: number;
    }
  /** Messages to the peer over the relay. */
  | { readonly type: 'say'; readonly message: 'ask' | 'heard' }
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
