/** The real clock. Timers never keep the process alive. */
import type { Clock } from '../actors/kit/ports.ts';

/** Time of this machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** A clock for leases and rates: goes on while the process is paused, never jumps. In ms. */
export function monotonicMs(): number {
  return performance.now();
}
