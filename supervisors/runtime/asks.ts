/** Questions under way: who waits for an answer, and until when. */
import type { Addressed, Ask } from '../../actors/messages.ts';
import { UNAVAILABLE } from '../../actors/refusal.ts';
import type { Result } from '../../actors/refusal.ts';
import { ASK_MS_MAX, ASK_SWEEP_MS } from '../../actors/limits.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Asker } from '../../actors/asker.ts';

interface Waiting {
  readonly resolve: (result: Result<unknown>) => void;
  readonly deadlineMs: number;
}

export interface Asks {
  readonly ask: Ask;
  /** Answers an asker. Answering twice, or too late, does nothing: the first answer counts. */
  answer(to: Asker, result: Result<unknown>): void;
  /** How many wait. */
  readonly waiting: () => number;
}

/**
 * Asks over `tell`. One timer serves all of them: they have the same patience, so the oldest is always first in the
 * map.
 */
export function createAsks(clock: Clock, tell: (addressed: Addressed) => void): Asks {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let sweeping = false;

  function sweep(): void {
    const nowMs = clock.nowMs();
    for (const [asker, one] of waiting) {
      if (one.deadlineMs > nowMs) break;
      waiting.delete(asker);
      one.resolve({ ok: false, refusal: UNAVAILABLE });
    }
    sweeping = waiting.size > 0;
    if (sweeping) clock.after(ASK_SWEEP_MS, sweep);
  }

  return {
    ask<T>(build: (asker: Asker) => Addressed): Promise<Result<T>> {
      return new Promise((resolve) => {
        last += 1;
        waiting.set(last, {
          resolve: resolve as (result: Result<unknown>) => void,
          deadlineMs: clock.nowMs() + ASK_MS_MAX,
        });
        if (!sweeping) {
          sweeping = true;
          clock.after(ASK_SWEEP_MS, sweep);
        }
        tell(build(last as Asker));
      });
    },
    answer(to, result) {
      const one = waiting.get(to);
      if (one === undefined) return;
      waiting.delete(to);
      one.resolve(result);
    },
    waiting: () => waiting.size,
  };
}

/** The asker of a message, when it has one. */
export function askerOf(message: { readonly asker?: Asker | null }): Asker | null {
  return message.asker ?? null;
}
