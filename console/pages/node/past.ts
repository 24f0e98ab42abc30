/** What was measured while nobody looked, as its agent kept it, put together with what was measured here. Pure. */
import type { NodeMetricsHistoryResource } from '../../../actors/resources/node-metrics.ts';
import { bounded, GAP_S, gapBetween, tells, type Measure, type Point } from './measured.ts';

/** Two that were measured so close are one, in s: half of what lies between two points of a history. */
const NEAR_S = 7.5;

/** Points of a history, by the clock of this browser: what counts is how long before the answer they were measured. */
export function pastOf(history: NodeMetricsHistoryResource, now: number): readonly Point[] {
  const toldMs = Date.parse(history.timestamp);
  return history.at.map((at, place) => ({
    at: now - (toldMs - Date.parse(at)) / 1_000,
    cpu: history.cpu_percent[place] ?? null,
    load: history.load_percent[place] ?? null,
    memory: history.memory_percent[place] ?? null,
    disk: history.disk_percent[place] ?? null,
    received: history.received_bytes_per_second[place] ?? null,
    sent: history.sent_bytes_per_second[place] ?? null,
    agent: history.agent_bytes[place] ?? null,
  }));
}

/** Both, the oldest first: a history fills what was not measured here, and takes the place of nothing that was. */
export function withPast(points: readonly Point[], past: readonly Point[]): readonly Point[] {
  const here = points.filter(tells);
  const added = past.filter(({ at }) => !here.some((point) => Math.abs(point.at - at) < NEAR_S));
  const isCovered = (at: number): boolean =>
    past.some((point, place) => {
      const next = past[place + 1];
      return next !== undefined && point.at <= at && at <= next.at && next.at - point.at <= GAP_S;
    });
  const kept = points.filter((point) => tells(point) || !isCovered(point.at));
  const all = [...kept, ...added].toSorted((a, b) => a.at - b.at);
  return bounded(all.flatMap((point, place) => [...gapBetween(all[place - 1], point), point]));
}

/**
 * A measure as the chart takes it: null breaks a line. Where one point alone does not tell it, as the first one here
 * has no rate, the line goes on (undefined).
 */
export function lineOf(points: readonly Point[], measure: Measure): (number | null | undefined)[] {
  const isTold = (place: number): boolean => typeof points[place]?.[measure] === 'number';
  return points.map((point, place) =>
    point[measure] === null && tells(point) && isTold(place - 1) && isTold(place + 1) ? undefined : point[measure],
  );
}
