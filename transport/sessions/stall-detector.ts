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

/** Watches the clock. */
export interface StallDetector {
  /** When the last one ended, in Unix ms; long ago when there was none. */
  endedMs(): number;
  /** To be called each second. */
  beat(): void;
}

/** None so far. */
export function createStallDetector(clock: Pick<Clock, 'nowMs'>): StallDetector {
  let beatMs = clock.nowMs();
  let endedMs = Number.NEGATIVE_INFINITY;

  /** Asked also between two beats: what came in meanwhile is read before any timer runs. */
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
    beat() {
      beatMs = look();
    },
  };
}
