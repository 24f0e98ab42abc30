/** What a collector is, and how it writes a table: one sample a device for each of many families. */
import { renderLabels } from '../../../../transport/net/exposition/exposition.ts';
import type { Exposition, Labels, MetricType } from '../../../../transport/net/exposition/exposition.ts';
import type { HostFiles } from './files.ts';

/** Devices of a kind (interfaces, disks, mounts, processors, …) that are served: the first so many. */
export const DEVICES_MAX = 512;

/** Characters of a label's value; what follows is cut. */
export const LABEL_CHARS_MAX = 512;

/** One source of the machine's metrics. */
export interface Collector {
  /** As node_exporter calls it: the value of the label `collector`. */
  readonly name: string;
  /**
   * Adds its families. Throws, or rejects, when what it reads is not there: then nothing of it is served, and its
   * success is 0.
   */
  readonly collect: (out: Exposition, host: HostFiles) => void | Promise<void>;
}

/** One family of a table. */
export interface Column<Row> {
  readonly name: string;
  /** Default: gauge. */
  readonly type?: MetricType;
  readonly help: string;
  /** Null or undefined: this device has no such value, and gets no sample. */
  readonly of: (row: Row) => number | null | undefined;
}

/** Rows by their rendered labels. */
export type Rows<Row> = ReadonlyMap<string, Row>;

/**
 * Reads a row for each device; null: it is left out. Of two with the same labels the first counts, and those beyond
 * DEVICES_MAX are counted in `leftOut`.
 */
export function rowsOf<Device, Row>(
  host: HostFiles,
  devices: Iterable<Device>,
  labels: (device: Device) => Labels,
  read: (device: Device) => Row | null,
): Rows<Row> {
  const rows = new Map<string, Row>();
  for (const device of devices) {
    const key = boundLabels(labels(device));
    if (rows.has(key)) continue;
    if (rows.size >= DEVICES_MAX) {
      host.leftOut += 1;
      continue;
    }
    const row = read(device);
    if (row !== null) rows.set(key, row);
  }
  return rows;
}

/** Writes the families that any row has. */
export function addTable<Row>(out: Exposition, columns: readonly Column<Row>[], rows: Rows<Row>): void {
  for (const { name, type = 'gauge', help, of } of columns) {
    let isBegun = false;
    for (const [labels, row] of rows) {
      const value = of(row);
      if (value === null || value === undefined) continue;
      if (!isBegun) out.family(name, type, help);
      isBegun = true;
      out.sample(name, value, labels);
    }
  }
}

/** A family of ones whose labels carry what is known; without any, nothing. */
export function addInfo(out: Exposition, name: string, help: string, infos: readonly Labels[]): void {
  const all = new Set(infos.slice(0, DEVICES_MAX).map(boundLabels));
  if (all.size > 0) out.family(name, 'gauge', help);
  for (const labels of all) out.sample(name, 1, labels);
}

/** Labels as text, with values within bounds and without the one character that Prometheus does not read. */
export function boundLabels(labels: Labels): string {
  return renderLabels(Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, bound(value)])));
}

function bound(value: string): string {
  const short = value.length > LABEL_CHARS_MAX ? value.slice(0, LABEL_CHARS_MAX) : value;
  return short.includes('\0') ? short.replaceAll('\0', '\uFFFD') : short;
}
