/** Best, median and tail of a series. */

/** Of a series in any unit. */
export interface Summary {
  readonly best: number;
  readonly median: number;
  readonly p95: number;
  readonly p99: number;
  readonly worst: number;
}

/** Value below which the share `q` (0–1) of the series lies, by nearest rank. NaN for an empty series. */
export function quantile(series: readonly number[], q: number): number {
  const sorted = series.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN;
}

/** All figures of a series. */
export function summarise(series: readonly number[]): Summary {
  return { best: quantile(series, 0), median: quantile(series, 0.5), p95: quantile(series, 0.95), p99: quantile(series, 0.99), worst: quantile(series, 1) };
}
