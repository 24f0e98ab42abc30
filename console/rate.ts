/** How often something happens, over the last minute. Pure. */

/** Over how long it is counted, and in steps of what, in ms. */
const WINDOW_MS = 60_000;
const STEP_MS = 5_000;

/** Counts in steps; what is older than the window is forgotten. */
export class Rate {
  readonly #steps = new Map<number, number>();

  add(count: number, nowMs: number): void {
    if (count === 0) return;
    const step = Math.floor(nowMs / STEP_MS);
    this.#steps.set(step, (this.#steps.get(step) ?? 0) + count);
    this.#forget(step);
  }

  /** Within the last minute, up to 5 s more. */
  lastMinute(nowMs: number): number {
    this.#forget(Math.floor(nowMs / STEP_MS));
    return [...this.#steps.values()].reduce((sum, count) => sum + count, 0);
  }

  #forget(step: number): void {
    for (const one of this.#steps.keys()) if (one < step - WINDOW_MS / STEP_MS) this.#steps.delete(one);
  }
}
