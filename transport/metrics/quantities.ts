/** Numbers of an exposition as those of a record. What a node does not tell, or tells as no number, is null. */
import type { Samples } from '../net/exposition/samples.ts';

const KIB = 1_024;
const SECONDS = { minute: 60, hour: 3_600, day: 86_400 } as const;

/** Labels that a sample must have, with these values. */
export type Wanted = Readonly<Record<string, string>>;

/** The first sample of a metric with these labels; null: there is none, or it is no finite number. */
export function numberOf(samples: Samples, name: string, wanted: Wanted = {}): number | null {
  const value = samples
    .get(name)
    ?.find(({ labels }) => Object.entries(wanted).every(([label, word]) => labels.get(label) === word))?.value;
  return value !== undefined && Number.isFinite(value) ? value : null;
}

/** The same as a count: a whole number from 0 on. */
export function countOf(samples: Samples, name: string, wanted: Wanted = {}): number | null {
  return count(numberOf(samples, name, wanted));
}

/** A number as a count; null: it is none. Beyond 2^53, numbers are not whole any more. */
export function count(value: number | null): number | null {
  return value === null || value < 0 || value > Number.MAX_SAFE_INTEGER ? null : Math.round(value);
}

/** The sum of those that are there; null: none is. */
export function sum(values: readonly (number | null)[]): number | null {
  const there = values.filter((value) => value !== null);
  return there.length === 0 ? null : count(there.reduce((total, value) => total + value, 0));
}

/** Bytes as MB of 2^20 bytes, to two digits. */
export function megabytes(bytes: number | null): number | null {
  return bytes === null ? null : rounded(bytes / KIB ** 2);
}

/** Bytes as GB of 2^30 bytes, to two digits. */
export function gigabytes(bytes: number | null): number | null {
  return bytes === null ? null : rounded(bytes / KIB ** 3);
}

/** To two digits behind the point. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Seconds for people: `3d 4h 5m`, `5m 6s`, `7s`. */
export function humanDuration(seconds: number | null): string | null {
  if (seconds === null) return null;
  const [days, hours, minutes] = [
    Math.floor(seconds / SECONDS.day),
    Math.floor((seconds % SECONDS.day) / SECONDS.hour),
    Math.floor((seconds % SECONDS.hour) / SECONDS.minute),
  ];
  if (days > 0) return `${days}d ${hours}h ${minutes}m`;
  if (hours > 0) return `${hours}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${Math.floor(seconds % SECONDS.minute)}s` : `${Math.floor(seconds)}s`;
}
