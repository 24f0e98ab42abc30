/** What histograms say of their observations. */
import type { Histogram } from '../../transport/net/histogram.ts';

/** The mean; null when nothing was observed. */
export function meanOf({ sum, count }: Histogram): number | null {
  return count === 0 ? null : sum / count;
}

/**
 * About where this share (0 to 1) of the observations lies below, as Prometheus' `histogram_quantile` reckons it: even
 * within a bucket, and never above the last bound. Null when nothing was observed.
 */
export function quantileOf({ bounds, counts, count }: Histogram, share: number): number | null {
  if (count === 0) return null;
  const rank = share * count;
  let below = 0;
  for (const [index, bound] of bounds.entries()) {
    const inside = counts[index] ?? 0;
    if (below + inside >= rank && inside > 0) {
      const from = index === 0 ? 0 : (bounds[index - 1] ?? 0);
      return from + (bound - from) * Math.max(0, (rank - below) / inside);
    }
    below += inside;
  }
  return bounds.at(-1) ?? null;
}
