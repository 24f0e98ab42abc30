/** Questions under way: who waits for an answer, and until when. */
import type { Addressed, Ask } from '../../actors/messages.ts';
import { IN_DOUBT } from '../../actors/refusal.ts';
import type { Result } from '../../actors/refusal.ts';
import { ASK_MS_MAX, ASK_SWEEP_MS } from '../../actors/limits.ts';
import type { Clock } from '../../actors/ports.ts';
import type { ReplyTo } from '../../actors/reply-to.ts';

interface Waiting {
  readonly resolve: (result: Result<unknown>) => void;
  readonly deadlineMs: number;
}

export interface Asks {
  readonly ask: Ask;
  /** Answers whoever asked. Answering twice, or too late, does nothing: the first answer counts. */
  answer(to: ReplyTo, result: Result<unknown>): void;
  /** How many wait. */
  readonly waiting: () => number;
}

/**
 * Asks over `tell`. One timer serves all of them: they have the same timeout, so the oldest is always first in the
 * map.
 */
export function createAsks(clock: Clock, tell: (addressed: Addressed) => void): Asks {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let sweeping = false;

  function sweep(): void {
    const nowMs = clock.nowMs();
    for (const [replyTo, one] of waiting) {
      if (one.deadlineMs > nowMs) break;
      waiting.delete(replyTo);
      one.resolve({ ok: false, refusal: IN_DOUBT });
    }
    sweeping = waiting.size > 0;
    if (sweeping) clock.after(ASK_SWEEP_MS, sweep);
  }

  return {
    ask<T>(build: (replyTo: ReplyTo) => Addressed): Promise<Result<T>> {
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
        tell(build(last as ReplyTo));
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

/** Where the answer to a message goes, when someone waits for one. */
export function replyToOf(message: { readonly replyTo?: ReplyTo | null }): ReplyTo | null {
  return message.replyTo ?? null;
}
