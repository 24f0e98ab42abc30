/** A clock that goes only when a test says so. */
import type { Clock } from '../../actors/ports.ts';

export interface FakeClock extends Clock {
  /** Lets time pass; what is due happens in order of its time. */
  pass(ms: number): void;
  /** Delays that wait. */
  waiting(): number;
}

/** Stands at `startMs` at first. */
export function createFakeClock(startMs = 1_000_000): FakeClock {
  let nowMs = startMs;
  let count = 0;
  const due = new Map<number, { readonly atMs: number; readonly run: () => void }>();
  return {
    nowMs: () => nowMs,
    after(ms, run) {
      count += 1;
      const key = count;
      due.set(key, { atMs: nowMs + ms, run });
      return () => void due.delete(key);
    },
    waiting: () => due.size,
    pass(ms) {
      const endMs = nowMs + ms;
      for (;;) {
        const [next] = [...due]
          .filter(([, one]) => one.atMs <= endMs)
          .toSorted(([a, one], [b, other]) => one.atMs - other.atMs || a - b);
        if (next === undefined) break;
        const [key, { atMs, run }] = next;
        due.delete(key);
        nowMs = Math.max(nowMs, atMs);
        run();
      }
      nowMs = endMs;
    },
  };
}
