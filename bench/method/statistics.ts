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

/**
 * Slope of the straight line through these points by least squares, in units of y a unit of x. NaN for fewer than two.
 */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  const [over, under] = points.reduce(
    ([o, u], [x, y]) => [o + (x - meanX) * (y - meanY), u + (x - meanX) ** 2],
    [0, 0],
  );
  return under === 0 ? Number.NaN : over / under;
}

/** All figures of a series. */
export function summarise(series: readonly number[]): Summary {
  return {
    best: quantile(series, 0),
    median: quantile(series, 0.5),
    p95: quantile(series, 0.95),
    p99: quantile(series, 0.99),
    worst: quantile(series, 1),
  };
}
