/** When an executor looks at its executions again. */
import { CHECK_STUCK_MS, type RunningExecution } from './running-execution.ts';

/**
 * Between two looks at running executions, in ms: usual, when somebody watches an output, and when one is being ended.
 */
const CHECK_MS = 250;
const CHECK_WATCHED_MS = 100;
const CHECK_STOPPING_MS = 40;

/** After a failed start or a refused write, and while something waits for its time, in ms. */
export const RETRY_MS = 1_000;

/** In so many ms; null: nothing is to be looked at. `hasWork`: something waits to be started or stored. */
export function nextLookMs(
  running: Iterable<Pick<RunningExecution, 'isStopping' | 'stuck' | 'deadlineMs'>>,
  { isWatched, hasWork, nowMs }: { readonly isWatched: boolean; readonly hasWork: boolean; readonly nowMs: number },
): number | null {
  let dueMs = Infinity;
  for (const { isStopping, stuck, deadlineMs } of running) {
    if (isWatched) dueMs = Math.min(dueMs, CHECK_WATCHED_MS);
    if (stuck.length > 0) dueMs = Math.min(dueMs, CHECK_STUCK_MS);
    else dueMs = Math.min(dueMs, isStopping ? CHECK_STOPPING_MS : CHECK_MS);
    if (deadlineMs !== null) dueMs = Math.min(dueMs, Math.max(1, deadlineMs - nowMs));
  }
  if (dueMs < Infinity) return dueMs;
  return hasWork ? RETRY_MS : null;
}

/** One timer, never later than planned, however often something happens. */
export class LookTimer {
  readonly #nowMs: () => number;
  readonly #look: () => void;
  #timer: NodeJS.Timeout | null = null;
  #dueMs = 0;

  /** `nowMs` is monotonic. */
  constructor(nowMs: () => number, look: () => void) {
    this.#nowMs = nowMs;
    this.#look = look;
  }

  /** Looks in so many ms, unless it does so sooner. */
  in(ms: number): void {
    const dueMs = this.#nowMs() + ms;
    if (this.#timer !== null && this.#dueMs <= dueMs) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(this.#look, ms + 1); // Node's timers may come 1 ms early
  }

  /** Looks no more, until it is told to. */
  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
