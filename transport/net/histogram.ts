/**
 * What was observed, sorted into fixed buckets: plain numbers, so that whoever observes on a hot path pays some
 * nanoseconds and knows no metrics library.
 */

/** A histogram as it is read. Values are in whatever unit its owner says. */
export interface Histogram {
  /** Upper bounds of the buckets, inclusive, rising. */
  readonly bounds: readonly number[];
  /** Observations by bucket, not cumulative; one more than bounds, for those above all of them. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

/** A histogram that takes observations. Empty at first. */
export class ObservedHistogram implements Histogram {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  sum = 0;
  count = 0;
  readonly #counts: number[];

  /** `bounds` are the upper ones of its buckets, and must rise. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
    this.counts = this.#counts;
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.sum += value;
    this.count += 1;
  }
}
