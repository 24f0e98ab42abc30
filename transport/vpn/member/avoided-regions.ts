/**
 * Regions whose relays did not let a member in. They answer the question how far they are as soon as any, so one of
 * them would be chosen again and again.
 */
import { AVOID_MS_MAX, AVOID_MS_MIN } from './limits.ts';

/** None at first. `nowMs` is of any one clock that does not go back, in ms. */
export class AvoidedRegions {
  readonly #avoided = new Map<number, { readonly untilMs: number; readonly forMs: number }>();

  /** Avoided from now on: for twice as long as before, where it was tried again after its time. */
  failed(region: number, nowMs: number): void {
    const before = this.#avoided.get(region);
    const forMs =
      before === undefined ? AVOID_MS_MIN : Math.min(before.forMs * (this.has(region, nowMs) ? 1 : 2), AVOID_MS_MAX);
    this.#avoided.set(region, { untilMs: nowMs + forMs, forMs });
  }

  /** It lets this member in. */
  worked(region: number): void {
    this.#avoided.delete(region);
  }

  /** What was learned is of other relays, or of another key. */
  forget(): void {
    this.#avoided.clear();
  }

  has(region: number, nowMs: number): boolean {
    return (this.#avoided.get(region)?.untilMs ?? -Infinity) > nowMs;
  }

  /** Of these the one whose time is over first; null: there are none. */
  next(regions: Iterable<number>): number | null {
    const [first] = [...regions].toSorted(
      (one, other) => (this.#avoided.get(one)?.untilMs ?? 0) - (this.#avoided.get(other)?.untilMs ?? 0),
    );
    return first ?? null;
  }
}
