/** What `-o` takes. */
import { EXIT, Problem } from '../problem.ts';

/** A table for people, all of its columns uncut, ids alone, one JSON document, or one JSON object a line. */
export const FORMATS = ['table', 'wide', 'id', 'json', 'ndjson'] as const;
/** One of them. */
export type Format = (typeof FORMATS)[number];

/** The format of `-o`. */
export function formatOf(text: string): Format {
  const format = FORMATS.find((one) => one === text);
  if (format === undefined) throw new Problem(`-o is "${text}": it should be one of ${FORMATS.join(', ')}`, EXIT.usage);
  return format;
}

/** Whether a person reads it: not JSON, and not ids for a script. */
export function isForPeople(format: Format): format is 'table' | 'wide' {
  return format === 'table' || format === 'wide';
}
