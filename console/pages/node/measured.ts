/** What is measured at a node while its page is open: points from one answer to the next, kept for an hour. Pure. */
import type { NodeMetricsResource } from '../../../actors/resources/node-metrics.ts';

/** How often a node is asked, in ms: often enough to see a load begin, and three scrapes of a machine each time. */
export const SAMPLE_MS = 5_000;

/** Points that are kept: an hour of them. */
export const POINTS_MAX = 720;
const KEPT_S = 3_600;

/** Where nothing was measured for longer, in s, a line breaks: one point of a history may be late, two are missing. */
export const GAP_S = 40;

/** What is drawn. Percentages, bytes, or bytes a second; null where it was not told. */
export const MEASURES = ['cpu', 'load', 'memory', 'disk', 'received', 'sent', 'agent'] as const;
/** One of them. */
export type Measure = (typeof MEASURES)[number];

/** One point. */
export interface Point extends Readonly<Record<Measure, number | null>> {
  /** Unix s, as charts want it. */
  readonly at: number;
}

/** Counters of the machine, of which only what they rise by says something. */
export interface Counters {
  readonly at: number;
  readonly busySeconds: number | null;
  readonly allSeconds: number | null;
  readonly receivedBytes: number | null;
  readonly sentBytes: number | null;
}

/** Lines of an exposition that count here; whatever else a machine sends is passed over. */
const SAMPLE = /^(node_cpu_seconds_total|node_network_(?:receive|transmit)_bytes_total)\{([^}]*)\} (\S+)/gmu;

/** Modes of a processor in which it does nothing. Source: proc(5), /proc/stat. */
const IDLE = /mode="(?:idle|iowait)"/u;

/** The loopback device carries what never left the machine. */
const LOOPBACK = /device="lo"/u;

/** Counters in what a machine's exporter says; null: it has none of them, or it was cut before them. */
export function countersOf(exposition: string, at: number): Counters {
  let busy: number | null = null;
  let all: number | null = null;
  let received: number | null = null;
  let sent: number | null = null;
  for (const [, name = '', labels = '', text = ''] of exposition.matchAll(SAMPLE)) {
    const value = Number(text);
    if (!Number.isFinite(value)) continue;
    if (name === 'node_cpu_seconds_total') {
      all = (all ?? 0) + value;
      busy = (busy ?? 0) + (IDLE.test(labels) ? 0 : value);
    } else if (!LOOPBACK.test(labels)) {
      if (name.includes('receive')) received = (received ?? 0) + value;
      else sent = (sent ?? 0) + value;
    }
  }
  return { at, busySeconds: busy, allSeconds: all, receivedBytes: received, sentBytes: sent };
}

/** A point of what was answered, with the counters before; null: there were none, or long ago, so nothing rose. */
export function pointOf(
  { host, agent }: Pick<NodeMetricsResource, 'host' | 'agent'>,
  before: Counters | null,
  now: Counters,
): Point {
  const { cpu } = host;
  const load = cpu === null || cpu.load_1m === null || !cpu.cores ? null : (cpu.load_1m / cpu.cores) * 100;
  const all = rise(before?.allSeconds, now.allSeconds);
  const busy = rise(before?.busySeconds, now.busySeconds);
  const seconds = before === null ? 0 : now.at - before.at;
  const rate = (bytes: number | null): number | null => (bytes === null || seconds <= 0 ? null : bytes / seconds);
  return {
    at: now.at,
    cpu: all === null || busy === null || all <= 0 ? null : Math.min(100, (busy / all) * 100),
    load,
    memory: host.memory?.usage_percent ?? null,
    disk: host.disk?.usage_percent ?? null,
    received: rate(rise(before?.receivedBytes, now.receivedBytes)),
    sent: rate(rise(before?.sentBytes, now.sentBytes)),
    agent: agent.application?.memory_total_bytes ?? null,
  };
}

/** With one more, behind a gap where nothing was measured for long, and without the oldest. */
export function withPoint(points: readonly Point[], point: Point): readonly Point[] {
  return bounded([...points, ...gapBetween(points.at(-1), point), point]);
}

/** Those of the last hour, and not too many. */
export function bounded(points: readonly Point[]): readonly Point[] {
  const since = (points.at(-1)?.at ?? 0) - KEPT_S;
  return points.filter(({ at }) => at >= since).slice(-POINTS_MAX);
}

/** Whether anything was measured. */
export function tells(point: Point): boolean {
  return MEASURES.some((measure) => point[measure] !== null);
}

/** A point that tells nothing between two that lie far apart. */
export function gapBetween(before: Point | undefined, point: Point): readonly Point[] {
  if (before === undefined || point.at - before.at <= GAP_S) return [];
  return [{ ...NOTHING, at: (before.at + point.at) / 2 }];
}

const NOTHING = Object.fromEntries(MEASURES.map((measure) => [measure, null])) as Readonly<Record<Measure, null>>;

/** What a measure was: last, lowest, highest; null: it was never told. */
export function summaryOf(
  points: readonly Point[],
  measure: Measure,
): { readonly now: number | null; readonly min: number; readonly max: number } | null {
  const told = points.map((point) => point[measure]).filter((value) => value !== null);
  if (told.length === 0) return null;
  return { now: points.at(-1)?.[measure] ?? null, min: Math.min(...told), max: Math.max(...told) };
}

/** A counter that fell began anew: the machine started again. */
function rise(before: number | null | undefined, now: number | null): number | null {
  return before === null || before === undefined || now === null || now < before ? null : now - before;
}
