/** Asciicasts, version 2, as they are read to be played. Format: https://docs.asciinema.org/manual/asciicast/v2/ */

/** What is shown, and when, in ms from the beginning. */
export type CastEvent =
  | { readonly atMs: number; readonly type: 'output'; readonly text: string }
  | { readonly atMs: number; readonly type: 'resize'; readonly size: TerminalSize };

/** Columns and rows. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A recording. Its events are read as they are needed, in order; their times never go back. */
export interface Cast {
  readonly size: TerminalSize;
  readonly events: () => Generator<CastEvent, void>;
}

/**
 * Reads a recording. Input, markers and lines that are no events, such as one that was cut, are left out. Null: it is
 * no asciicast of version 2.
 */
export function parseCast(text: string): Cast | null {
  const end = text.indexOf('\n');
  const header = parsed(end < 0 ? text : text.slice(0, end)) as {
    readonly version?: unknown;
    readonly width?: unknown;
    readonly height?: unknown;
  } | null;
  if (header?.version !== 2) return null;
  return {
    size: { columns: side(header.width, 80), rows: side(header.height, 24) },
    events: () => eventsOf(text, end < 0 ? text.length : end + 1),
  };
}

function* eventsOf(text: string, from: number): Generator<CastEvent, void> {
  let atMs = 0;
  for (let begin = from; begin < text.length;) {
    const newline = text.indexOf('\n', begin);
    const end = newline < 0 ? text.length : newline;
    const line = parsed(text.slice(begin, end));
    begin = end + 1;
    if (!Array.isArray(line)) continue;
    const [seconds, code, data] = line as readonly unknown[];
    if (typeof seconds !== 'number' || typeof data !== 'string') continue;
    atMs = Math.max(atMs, seconds * 1_000);
    if (code === 'o') yield { atMs, type: 'output', text: data };
    const [, columns, rows] = code === 'r' ? (/^(\d{1,5})x(\d{1,5})$/u.exec(data) ?? []) : [];
    if (columns !== undefined) yield { atMs, type: 'resize', size: { columns: Number(columns), rows: Number(rows) } };
  }
}

function side(given: unknown, otherwise: number): number {
  return typeof given === 'number' && Number.isSafeInteger(given) && given > 0 ? given : otherwise;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
