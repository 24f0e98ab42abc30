/**
 * The metrics of this admin, as text for Prometheus and as an object for people and models. Both are made of the same
 * readings.
 */
import { createRegistry } from './registry.ts';
import { createRequestTimes, type RequestTimes } from './request-times.ts';
import { describe, type AdminMetricsResource } from './resource.ts';
import type { Readings } from './family.ts';
import type { MetricSources, TotalReadings } from './sources.ts';

/**
 * A scrape waits so long for the database, in ms: then it goes on without, because an admin must be visible just when
 * its database is away.
 */
const TOTALS_MS_MAX = 1_500;

/** Metrics of one admin. */
export interface AdminMetrics {
  /** Where requests are counted. */
  readonly requests: RequestTimes;
  /**
   * The exposition. Scrapes that come while one is made share it. Within 2 s; never rejects for a database that is
   * away.
   */
  text(): Promise<string>;
  /** The same as an object. */
  resource(): Promise<AdminMetricsResource>;
}

/** The metrics of these sources. */
export function createAdminMetrics(sources: MetricSources): AdminMetrics {
  const requests = createRequestTimes();
  const registry = createRegistry();
  const totals = shared(() => sources.totals());

  async function read(): Promise<Readings> {
    const counted = await inTime(totals());
    return {
      version: sources.version,
      name: sources.name,
      totals: counted,
      live: sources.live(),
      requests: requests.all(),
    };
  }

  return {
    requests,
    text: shared(async () => registry.text(await read())),
    resource: shared(async () => describe(await read(), await registry.ofProcess(), Date.now())),
  };
}

/** Whoever asks while an answer is being made gets that one. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let under: Promise<T> | null = null;
  return () =>
    (under ??= make().finally(() => {
      under = null;
    }));
}

/** Null: it failed, or took too long. It is not begun again before it is over. */
async function inTime(counting: Promise<TotalReadings>): Promise<TotalReadings | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), TOTALS_MS_MAX);
  try {
    return await Promise.race([counting.catch(() => null), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
