/** Runs a task soon after it is asked for, at most once an interval, never twice at a time. */
import type { Clock } from '../../actors/ports.ts';

/** A task with its own rhythm. */
export interface Pacer {
  /** There is something to do: now when the last run is long enough ago, else as soon as it is. */
  wake(): void;
  /** No run starts any more. */
  stop(): void;
}

/**
 * A pacer of `run`. A run that rejects is reported to `failed` and asked for again after `retryMs`:
 * what it was about is still to be done.
 */
export function createPacer(
  clock: Clock,
  intervalMs: number,
  run: () => Promise<void> | void,
  failed: (error: unknown) => void,
  retryMs: number,
): Pacer {
  let running = false;
  let again = false;
  let stopped = false;
  let earliestMs = Number.NEGATIVE_INFINITY;
  let cancelTimer: (() => void) | null = null;

  const start = (): void => {
    cancelTimer = null;
    if (stopped) return;
    running = true;
    again = false;
    earliestMs = clock.nowMs() + intervalMs;
    void attempt();
  };

  const attempt = async (): Promise<void> => {
    try {
      await run();
    } catch (error) {
      failed(error);
      again = true;
      earliestMs = clock.nowMs() + retryMs;
    }
    running = false;
    if (again) schedule();
  };

  const schedule = (): void => {
    if (stopped || running || cancelTimer !== null) return;
    // a clock that was set back makes nobody wait longer
    const waitMs = Math.min(earliestMs - clock.nowMs(), Math.max(intervalMs, retryMs));
    if (waitMs <= 0) start();
    else cancelTimer = clock.after(waitMs, start);
  };

  return {
    wake() {
      again = true;
      schedule();
    },
    stop() {
      stopped = true;
      cancelTimer?.();
      cancelTimer = null;
    },
  };
}
