/**
 * Which tokens the gate looks up: it remembers those that it let in, and limits by address how often a wrong one may be
 * tried (L1).
 */
import type { WindowLimiter } from '../net/window-limiter.ts';

/** Tokens that are remembered, by their hash. Above it the one let in longest ago goes. */
export const KNOWN_TOKENS_MAX = 20_000;

/** The memory of a gate. */
export interface TokenMemory {
  /**
   * 0: it may be looked up. Else the ms to wait: its node began too many sessions, or too many wrong ones came from
   * there, and this one was never right.
   */
  waitMs(hash: string, address: string): number;
  right(hash: string): void;
  /** Its node began too many sessions: until so many ms have passed it is not even looked up. */
  eager(hash: string, waitMs: number): void;
  /** Also one that was right once: it was revoked. */
  wrong(hash: string, address: string): void;
}

/**
 * Nothing is remembered at first. `wrongTokens` counts by address. Honest machines behind the address of a liar go on:
 * their tokens were right before.
 */
export function createTokenMemory(wrongTokens: WindowLimiter, monotonicMs: () => number): TokenMemory {
  const known = new Set<string>();
  /** Until when each is eager. */
  const eager = new Map<string, number>();
  return {
    waitMs(hash, address) {
      const eagerMs = (eager.get(hash) ?? 0) - monotonicMs();
      if (eagerMs > 0) return eagerMs;
      eager.delete(hash);
      return known.has(hash) ? 0 : wrongTokens.waitMs(address);
    },
    eager(hash, waitMs) {
      if (eager.size >= KNOWN_TOKENS_MAX) eager.delete(eager.keys().next().value ?? '');
      eager.set(hash, monotonicMs() + waitMs);
    },
    right(hash) {
      known.delete(hash); // so that insertion order stays the order of age
      known.add(hash);
      if (known.size > KNOWN_TOKENS_MAX) known.delete(known.values().next().value ?? '');
    },
    wrong(hash, address) {
      known.delete(hash);
      wrongTokens.add(address);
    },
  };
}
