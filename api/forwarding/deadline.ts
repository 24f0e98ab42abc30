/** When a request has to be over: one deadline for all that is done for it, here and at other admins. */
import type { Clock } from '../../actors/ports.ts';

/** Timeout of one request with all of its tries, in ms: as with one ask (L3 leaves 5 s). */
export const FORWARD_MS_MAX = 4_500;

/**
 * A request began just now for so long, in ms. An ask that is begun by then has its own timeout: L3 leaves 5 s, and it
 * costs no further timer.
 */
const AT_ONCE_MS_MAX = 100;

/** When it has to be over. */
export interface Deadline {
  /** Time that is left, in ms; 0: it is over. */
  leftMs(): number;
}

/** Of a request that begins now: FORWARD_MS_MAX. */
export function deadlineFrom(monotonicMs: () => number): Deadline {
  const untilMs = monotonicMs() + FORWARD_MS_MAX;
  return { leftMs: () => Math.max(0, untilMs - monotonicMs()) };
}

/**
 * What comes of one ask that was begun just now, while so many ms were left of the time of its request; null: nothing
 * in that time. It goes on then, and nobody hears what comes of it. Rejects as it does before that.
 */
export async function askedInTime<T>(
  running: Promise<T>,
  leftMs: number,
  clock: Pick<Clock, 'after'>,
): Promise<T | null> {
  return isJustBegun(leftMs) ? running : inTime(running, leftMs, clock);
}

/** Whether a request of which so much time is left, in ms, began just now: what was read for it is as it is. */
export function isJustBegun(leftMs: number): boolean {
  return leftMs >= FORWARD_MS_MAX - AT_ONCE_MS_MAX;
}

/** What comes of it within so many ms; null: nothing yet. Rejects as it does before that. */
export function inTime<T>(running: Promise<T>, ms: number, clock: Pick<Clock, 'after'>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(null));
    running.finally(cancel).then(resolve, reject);
  });
}
