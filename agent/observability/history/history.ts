/**
 * What this machine measured in the last hour, for whoever looks at it: in memory alone, so a restart begins it anew.
 * Prometheus is for longer.
 */
import {
  HISTORY_INTERVAL_MS,
  HISTORY_MEASURES,
  HISTORY_MS_MAX,
  type HistoryMeasure,
  type MetricsHistory,
} from '../../../transport/protocol/metrics-history.ts';
import type { Reading } from './reading.ts';

/** Points that are kept: an hour of them, 15 KiB. The oldest goes. */
export const HISTORY_KEPT_MAX = 240;

/** The place of the time in a point; the measures come behind it, in their order. */
const AT = 0;
const WIDTH = 1 + HISTORY_MEASURES.length;

type Point = Readonly<Record<HistoryMeasure, number | null>>;

/** A ring of numbers. Times are ms of a clock that only goes forward, also while the machine is suspended. */
export class History {
  /** NaN is what was not told. */
  readonly #numbers = new Float64Array(HISTORY_KEPT_MAX * WIDTH);
  /** Points that came so far. */
  #came = 0;
  #before: Reading | null = null;

  /** One more reading. What rises is told from the second on. A clock that was set back begins everything anew. */
  add(reading: Reading): void {
    const before = this.#before;
    const isSetBack = before !== null && reading.atMs <= before.atMs;
    if (isSetBack) this.#came = 0;
    this.#before = reading;
    const point = pointOf(isSetBack ? null : before, reading);
    const place = (this.#came % HISTORY_KEPT_MAX) * WIDTH;
    this.#numbers[place + AT] = reading.atMs;
    for (const [index, measure] of HISTORY_MEASURES.entries())
      this.#numbers[place + 1 + index] = point[measure] ?? Number.NaN;
    this.#came += 1;
  }

  /** What is known at this time, and not older than an hour. */
  told(nowMs: number): MetricsHistory {
    const places = this.#places().filter((place) => this.#age(place, nowMs) <= HISTORY_MS_MAX);
    const lists = HISTORY_MEASURES.map((measure, index) => [
      measure,
      places.map((place) => orNull(this.#numbers[place + 1 + index])),
    ]);
    return {
      interval_ms: HISTORY_INTERVAL_MS,
      ages_ms: places.map((place) => this.#age(place, nowMs)),
      ...(Object.fromEntries(lists) as Record<HistoryMeasure, (number | null)[]>),
    };
  }

  /** Where points begin, the oldest first. */
  #places(): number[] {
    const kept = Math.min(this.#came, HISTORY_KEPT_MAX);
    return Array.from({ length: kept }, (_, index) => ((this.#came - kept + index) % HISTORY_KEPT_MAX) * WIDTH);
  }

  #age(place: number, nowMs: number): number {
    return Math.max(0, Math.round(nowMs - (this.#numbers[place + AT] ?? 0)));
  }
}

/** What is shown of a reading, with the one before: counters say something by what they rose. */
function pointOf(before: Reading | null, now: Reading): Point {
  const seconds = before === null ? 0 : (now.atMs - before.atMs) / 1_000;
  const all = rise(before?.allTicks, now.allTicks);
  const busy = rise(before?.busyTicks, now.busyTicks);
  const rate = (bytes: number | null): number | null =>
    bytes === null || seconds <= 0 ? null : Math.round(bytes / seconds);
  return {
    cpu_percent: share(busy, all),
    load_percent: now.load === null || !now.cores ? null : rounded((now.load / now.cores) * 100),
    memory_percent: used(now.memory),
    disk_percent: used(now.disk),
    received_bytes_per_second: rate(rise(before?.receivedBytes, now.receivedBytes)),
    sent_bytes_per_second: rate(rise(before?.sentBytes, now.sentBytes)),
    agent_bytes: now.agentBytes,
  };
}

/** A counter that fell began anew. */
function rise(before: number | null | undefined, now: number | null): number | null {
  return before === null || before === undefined || now === null || now < before ? null : now - before;
}

function used(space: Reading['memory']): number | null {
  return space === null ? null : share(space.total - space.available, space.total);
}

/** In percent; null: of nothing, or more than all of it or less than none, which tells nothing. */
function share(part: number | null, whole: number | null): number | null {
  if (part === null || whole === null || whole <= 0 || part < 0 || part > whole) return null;
  return rounded((part / whole) * 100);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function orNull(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}
