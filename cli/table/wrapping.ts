/** Sentences on a terminal, in lines that end between two words. */
import displayWidth from 'fast-string-width';

/** What stays on one line: a word, what stands in backticks, such as a command, and what is short in parentheses. */
const UNIT = /`[^`]*`\S*|\([^()]{1,12}\)\S*|\S+/gu;

/** However far the text is indented, so many columns are left to it. */
const ROOM_MIN = 20;

/** Where a text stands. */
export interface Place {
  /** Columns of the terminal; null: it is none, and nothing is broken. */
  readonly width: number | null;
  /** Columns before the first line, which the others are given as spaces. */
  readonly indent: number;
}

/** A text as it fits there, without a newline at its end. A word that is longer than the room has a line of its own. */
export function wrapped(text: string, { width, indent }: Place): string {
  const room = width === null ? Number.POSITIVE_INFINITY : Math.max(ROOM_MIN, width - indent);
  if (displayWidth(text) <= room) return text;
  const lines: string[] = [];
  for (const [unit] of text.matchAll(UNIT)) {
    const longer = `${lines.at(-1) ?? ''} ${unit}`;
    if (lines.length > 0 && displayWidth(longer) <= room) lines[lines.length - 1] = longer;
    else lines.push(unit);
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}
