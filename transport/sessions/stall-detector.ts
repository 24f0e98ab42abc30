/**
 * Whether this admin itself stood still: frozen, suspended, or with a clock that was set. What agents said meanwhile
 * nobody heard, and that is no silence of theirs.
 */
import type { Clock } from '../../actors/ports.ts';

/**
 * An admin that looks at its clock each second and finds so much gone stood still, in ms: one that is only busy is
 * sooner.
 */
const STALL_MS_MIN = 4_000;

/**
 * What agents sent while this admin stood still is read within so long after it, in ms, and seems to be said then: its
 * timers may run before it reads.
 */
export const CAUGHT_UP_MS = 5_000;

/** Watches the clock. */
export interface StallDetector {
  /** When the last one ended, in Unix ms; long ago when there was none. */
  endedMs(): number;
  /**
   * Whether a session that ends now was lost to the last one: it was open before, and nothing came that its agent can
   * only have sent since.
   */
  excuses(session: { readonly openedMs: number; readonly heardMs: number }): boolean;
  /** To be called each second. */
  beat(): void;
}

/** None so far. */
export function createStallDetector(clock: Pick<Clock, 'nowMs'>): StallDetector {
  let beatMs = clock.nowMs();
  let endedMs = Number.NEGATIVE_INFINITY;

  /** Asked also between two beats: what came in meanwhile may be read before the next one, and after it. */
  function look(): number {
    const nowMs = clock.nowMs();
    if (nowMs - beatMs > STALL_MS_MIN) {
      endedMs = nowMs;
      beatMs = nowMs;
    }
    return nowMs;
  }

  return {
    endedMs() {
      look();
      return endedMs;
    },
    excuses({ openedMs, heardMs }) {
      look();
      return openedMs < endedMs && heardMs < endedMs + CAUGHT_UP_MS;
    },
    beat() {
      beatMs = look();
    },
  };
}
