/** What a metric of an admin is, and how one is written down. */
import type { Histogram } from '../../transport/net/histogram.ts';
import type { RequestTime } from './request-times.ts';
import type { Counts, LiveReadings, TotalReadings } from './sources.ts';

/** All that one scrape reads, at one moment. */
export interface Readings {
  readonly version: string;
  readonly name: string;
  readonly live: LiveReadings;
  /** Null: the database is away, or did not answer in time. */
  readonly totals: TotalReadings | null;
  readonly requests: readonly RequestTime[];
}

/** Names and values of labels. */
export type Labels = Readonly<Record<string, string>>;

/** One number, or one histogram, under its labels. */
export interface Sample<Value> {
  readonly labels: Labels;
  readonly value: Value;
}

/**
 * A metric without its kind. `read` answers nothing for what does not exist or is not known now: the metric is absent
 * then, and never zero.
 */
interface Named<Value> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  read(readings: Readings): readonly Sample<Value>[];
}

/** A metric. Counters only rise while the process lives. */
export type Family =
  | (Named<number> & { readonly type: 'counter' | 'gauge' })
  | (Named<Histogram> & { readonly type: 'histogram' });

/** Before each name. */
const PREFIX = 'edge_admin_';

type Read<Value> = Named<Value>['read'];

/** A number that rises and falls. */
export function gauge(name: string, help: string, labels: readonly string[], read: Read<number>): Family {
  return { type: 'gauge', name: PREFIX + name, help, labels, read };
}

/** A number that only rises. */
export function counter(name: string, help: string, labels: readonly string[], read: Read<number>): Family {
  return { type: 'counter', name: PREFIX + name, help, labels, read };
}

/** Numbers in buckets. */
export function histogram(name: string, help: string, labels: readonly string[], read: Read<Histogram>): Family {
  return { type: 'histogram', name: PREFIX + name, help, labels, read };
}

/** One sample, or none for what is not known. */
export function one(value: number | boolean | null | undefined, labels?: Labels): readonly Sample<number>[];
export function one(value: Histogram, labels?: Labels): readonly Sample<Histogram>[];
export function one(
  value: number | boolean | Histogram | null | undefined,
  labels: Labels = {},
): readonly Sample<number | Histogram>[] {
  if (value === null || value === undefined) return [];
  return [{ labels, value: typeof value === 'boolean' ? Number(value) : value }];
}

/** A sample a word, under this label. */
export function by(label: string, counts: Counts | null | undefined, labels: Labels = {}): readonly Sample<number>[] {
  return Object.entries(counts ?? {}).map(([word, value]) => ({ labels: { ...labels, [label]: word }, value }));
}

/** A sample a kind of actor. */
export function byKind(
  { actors }: LiveReadings,
  read: (of: LiveReadings['actors'][keyof LiveReadings['actors']]) => number,
): readonly Sample<number>[] {
  return Object.entries(actors).map(([kind, of]) => ({ labels: { kind }, value: read(of) }));
}
