/** Proofs that were used: none is taken a second time for as long as its age would let it be. */

/** What is said of a proof. `full`: it cannot be remembered, so it cannot be taken either. */
export type NonceVerdict = 'fresh' | 'seen' | 'full';

/** Those of other admins, by process. Forgotten once they are too old to be shown again, never earlier. */
export class SeenNonces {
  readonly #ageMsMax: number;
  readonly #noncesMax: number;
  /** By process: when each was sent, in the order in which they came. */
  readonly #sentAtMs = new Map<string, Map<string, number>>();
  /** The newest that was forgotten. */
  #forgottenUntilMs = -Infinity;

  /** A proof is too old when it was sent more than `ageMsMax` ago; `noncesMax` are remembered of one process. */
  constructor(ageMsMax: number, noncesMax: number) {
    this.#ageMsMax = ageMsMax;
    this.#noncesMax = noncesMax;
  }

  /** Remembers a proof that was sent then, by the clock that `nowMs` is of. */
  take(instance: string, nonce: string, sentAtMs: number, nowMs: number): NonceVerdict {
    const seen = this.#sentAtMs.get(instance) ?? new Map<string, number>();
    this.#forget(seen, nowMs);
    // What is as old as one that was forgotten may itself have been: the clock was set back since then.
    if (seen.has(nonce) || sentAtMs <= this.#forgottenUntilMs) return 'seen';
    if (seen.size >= this.#noncesMax) return 'full';
    seen.set(nonce, sentAtMs);
    this.#sentAtMs.set(instance, seen);
    return 'fresh';
  }

  /** Forgets processes of which nothing is left that could be shown again. */
  sweep(nowMs: number): void {
    for (const [instance, seen] of this.#sentAtMs) {
      this.#forget(seen, nowMs);
      if (seen.size === 0) this.#sentAtMs.delete(instance);
    }
  }

  /** How many are remembered. */
  size(): number {
    return [...this.#sentAtMs.values()].reduce((sum, seen) => sum + seen.size, 0);
  }

  /** The oldest first: one from ahead of our clock holds up those behind it for twice the age at most. */
  #forget(seen: Map<string, number>, nowMs: number): void {
    for (const [nonce, sentAtMs] of seen) {
      if (sentAtMs + this.#ageMsMax >= nowMs) return;
      seen.delete(nonce);
      this.#forgottenUntilMs = Math.max(this.#forgottenUntilMs, sentAtMs);
    }
  }
}
