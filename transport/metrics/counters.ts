/** What scrapes of nodes came to, and how long they took. */
import { ObservedHistogram, type Histogram } from '../net/histogram.ts';
import { METRICS_SOURCES, type MetricsSource } from '../../actors/resources/node-metrics.ts';
import type { ScrapeOutcome } from './scrapes.ts';

/** Buckets of durations, in s: from a node nearby to twice the usual METRICS_SCRAPE_TIMEOUT_MS. */
const BOUNDS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts since the start. */
export interface ScrapeCounters {
  readonly by: Readonly<
    Record<MetricsSource, { readonly outcomes: Readonly<Record<string, number>>; readonly durations: Histogram }>
  >;
  /** Counts one. */
  scraped(source: MetricsSource, outcome: ScrapeOutcome, tookMs: number): void;
}

/** All at zero. */
export function createScrapeCounters(): ScrapeCounters {
  const none = (): { readonly outcomes: Record<string, number>; readonly durations: ObservedHistogram } => ({
    outcomes: { ok: 0 },
    durations: new ObservedHistogram(BOUNDS_S),
  });
  const by = Object.fromEntries(METRICS_SOURCES.map((source) => [source, none()])) as Record<
    MetricsSource,
    ReturnType<typeof none>
  >;
  return {
    by,
    scraped(source, outcome, tookMs) {
      const { outcomes, durations } = by[source];
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      durations.observe(tookMs / 1_000);
    },
  };
}
