/**
 * When a session doubts its admin, and what becomes of the connection that it tries beside: one that answers no ping is
 * not taken for dead yet, but another admin is asked meanwhile. Knows no socket and no clock.
 */

/** Beside a silent admin, one that does not answer the upgrade within this time is given up, in ms. */
export const BESIDE_HANDSHAKE_MS_MAX = 3_000;

/**
 * While the silent admin still owns the cluster, the others say so: they are asked again after this, in ms. A lease
 * that nobody renews is taken over 3 to 4 s after its owner stood still, so the first wait is short; each further one
 * is twice as long, because an admin that is only slow has all of its agents asking.
 */
export const ASK_AGAIN_MS_MIN = 1_000;
export const ASK_AGAIN_MS_MAX = 8_000;

/**
 * Whoever looks later than this after the doubt has begun stood still itself, in ms: it first reads what came
 * meanwhile, for as long as HEARING_MS. Without that, agents that wake together would all ask around.
 */
const LATE_MS = 500;
const HEARING_MS = 100;

/** Up to this, the next admin is not asked at once, in ms: an admin's agents do not all come at the same moment. */
const NEXT_MS_MAX = 200;

type State =
  /** `pingedMs`: the first ping that nothing followed; null: none. */
  | { readonly kind: 'trusting'; readonly pingedMs: number | null }
  /** A second connection is under way. `againMs`: how long to wait once it came to nothing. */
  | { readonly kind: 'asking'; readonly againMs: number }
  | { readonly kind: 'waiting'; readonly askAtMs: number; readonly againMs: number };

const TRUSTING: State = { kind: 'trusting', pingedMs: null };

/** Of one connection. All times are of the session's clock, in ms. */
export class Suspicion {
  readonly #afterMs: number;
  #state: State = TRUSTING;

  /** A ping that nothing followed for `afterMs` makes the admin suspicious. */
  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** As it was made with. */
  get afterMs(): number {
    return this.#afterMs;
  }

  /** A ping went out, or waits to. */
  pinged(nowMs: number): void {
    if (this.#state.kind === 'trusting' && this.#state.pingedMs === null)
      this.#state = { kind: 'trusting', pingedMs: nowMs };
  }

  /** The admin said something. True: it was suspicious, and whoever is asked beside it is not needed any more. */
  heard(): boolean {
    const wasSuspicious = this.#state.kind !== 'trusting';
    this.#state = TRUSTING;
    return wasSuspicious;
  }

  /** Whether another admin is to be asked now; if so, the answer is awaited from here on. */
  takeAsk(nowMs: number): boolean {
    const state = this.#state;
    if (nowMs < this.#askAtMs) return false;
    if (state.kind === 'trusting' && nowMs - this.#askAtMs > LATE_MS) {
      this.#state = { kind: 'trusting', pingedMs: nowMs + HEARING_MS - this.#afterMs };
      return false;
    }
    this.#state = { kind: 'asking', againMs: state.kind === 'trusting' ? ASK_AGAIN_MS_MIN : state.againMs };
    return true;
  }

  /**
   * Who was asked does not take the node. `isNextAtOnce`: there is another one that may. `random` is uniform in [0, 1).
   */
  refused(nowMs: number, isNextAtOnce: boolean, random: number): void {
    if (this.#state.kind !== 'asking') return;
    const { againMs } = this.#state;
    this.#state = isNextAtOnce
      ? { kind: 'waiting', askAtMs: nowMs + Math.round(random * NEXT_MS_MAX), againMs }
      : { kind: 'waiting', askAtMs: nowMs + againMs, againMs: Math.min(2 * againMs, ASK_AGAIN_MS_MAX) };
  }

  /** In how many ms another admin is to be asked; infinite while none is. */
  nextMs(nowMs: number): number {
    return this.#askAtMs - nowMs;
  }

  get #askAtMs(): number {
    const state = this.#state;
    if (state.kind === 'waiting') return state.askAtMs;
    return state.kind === 'trusting' && state.pingedMs !== null ? state.pingedMs + this.#afterMs : Infinity;
  }
}
