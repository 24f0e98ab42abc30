/**
 * How long requests took, by what was asked: every operation on every surface, and the routes that are no operation.
 * Bounded: whatever a client sends, it ends in one of the names that are known here.
 */
import { ObservedHistogram, type Histogram } from '../../transport/net/histogram.ts';
import type { Surface } from '../surface.ts';

/** Buckets, in s: from what a read takes to beyond the longest that a call may take (L3). */
const BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** How a request ended: the class of its status, or `aborted` when the client went away before its answer. */
export type RequestCode = '2xx' | '3xx' | '4xx' | '5xx' | 'aborted';

/** `other`: routes of the same server that are no operation. */
export type RequestSurface = Surface | 'other';

/** Requests of one kind that ended alike. Durations in s. */
export interface RequestTime {
  readonly surface: RequestSurface;
  readonly operation: string;
  readonly code: RequestCode;
  readonly durations: Histogram;
}

/** Counts requests. */
export interface RequestTimes {
  /** `operation` must come from a closed list: a name of the catalogue, or the pattern of a route. */
  observe(surface: RequestSurface, operation: string, code: RequestCode, ms: number): void;
  /** Everything that came at least once. */
  all(): readonly RequestTime[];
}

/** Nothing was asked yet. */
export function createRequestTimes(): RequestTimes {
  const times = new Map<string, RequestTime & { readonly durations: ObservedHistogram }>();
  return {
    observe(surface, operation, code, ms) {
      const key = `${surface} ${operation} ${code}`;
      let time = times.get(key);
      if (time === undefined) {
        time = { surface, operation, code, durations: new ObservedHistogram(BOUNDS_S) };
        times.set(key, time);
      }
      time.durations.observe(ms / 1_000);
    },
    all: () => [...times.values()],
  };
}

/** The class of a status. */
export function codeOf(status: number): RequestCode {
  if (status < 300) return '2xx';
  if (status < 400) return '3xx';
  return status < 500 ? '4xx' : '5xx';
}
