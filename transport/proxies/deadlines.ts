/** Things that may all take the same time, watched by one timer, whatever their number. */
import { joinClock, type JoinClock } from '../net/streams/join.ts';

/** What is still in time. */
export interface Deadlines<T> {
  /** Its time begins now. */
  add(item: T): void;
  /** It is done. */
  delete(item: T): void;
  /** The one that was added first. */
  oldest(): T | undefined;
  /** All of them, in the order in which they were added. */
  all(): Iterable<T>;
  readonly size: number;
}

/** `expired` is called once for each item that is not deleted within `msMax`; it is deleted then. */
export function createDeadlines<T>(
  msMax: number,
  expired: (item: T) => void,
  clock: JoinClock = joinClock,
): Deadlines<T> {
  const begins = new Map<T, number>(); // in the order of their begin, so in that of their deadline
  let isArmed = false;

  function look(): void {
    isArmed = false;
    const nowMs = clock.nowMs();
    for (const [item, beganMs] of begins) {
      const leftMs = beganMs + msMax - nowMs;
      if (leftMs > 0) return arm(leftMs);
      begins.delete(item);
      expired(item);
    }
  }

  function arm(ms: number): void {
    if (isArmed) return;
    isArmed = true;
    clock.after(Math.ceil(ms), look);
  }

  return {
    add(item) {
      begins.set(item, clock.nowMs());
      arm(msMax);
    },
    delete: (item) => void begins.delete(item),
    oldest: () => begins.keys().next().value,
    all: () => begins.keys(),
    get size() {
      return begins.size;
    },
  };
}
