/** Cells below each other, no line longer than the terminal is wide. */
import displayWidth from 'fast-string-width';
import { PLAIN } from '../output/colours.ts';

/** One cell as text, without control characters, and the sequence that paints it. */
export interface Cell {
  readonly text: string;
  /** SGR before it; null: as it is. */
  readonly paint: string | null;
}

/** What may be done to a column where the terminal is too narrow. */
export interface Flexibility {
  readonly cut?: number | undefined;
  readonly drop?: number | undefined;
}

/** Between two columns. */
const GAP = '  ';

/** Says that there was more. */
const ELLIPSIS = '…';

/**
 * Lines with two spaces between their columns and none at the end. With a `width`, columns are cut, then left out, then
 * cut hard, until every line fits. The first line holds the headings, below which no column is cut.
 */
export function layout(
  lines: readonly (readonly Cell[])[],
  flexible: readonly Flexibility[],
  width: number | null,
): string {
  const natural = flexible.map((_one, column) =>
    Math.max(0, ...lines.map((line) => displayWidth(line[column]?.text ?? ''))),
  );
  const widths = width === null ? natural : fitted(natural, flexible, lines[0] ?? [], width);
  return lines.map((line) => `${lineOf(line, widths, width)}\n`).join('');
}

/** Widths that fit; 0: the column is left out. */
function fitted(
  natural: readonly number[],
  flexible: readonly Flexibility[],
  headings: readonly Cell[],
  width: number,
): readonly number[] {
  const shown = natural.map(() => true);
  for (;;) {
    const widths = natural.map((one, column) => (shown[column] === true ? one : 0));
    for (let column = widths.length - 1; column >= 0; column -= 1) {
      const { cut } = flexible[column] ?? {};
      if (cut === undefined || shown[column] !== true) continue;
      const least = Math.max(cut, displayWidth(headings[column]?.text ?? ''));
      const excess = total(widths) - width;
      if (excess > 0) widths[column] = Math.max(Math.min(least, widths[column] ?? 0), (widths[column] ?? 0) - excess);
    }
    const dropped = mostExpendable(flexible, shown);
    if (total(widths) <= width || dropped === null) return widths;
    shown[dropped] = false;
  }
}

function mostExpendable(flexible: readonly Flexibility[], shown: readonly boolean[]): number | null {
  let found: number | null = null;
  for (const [column, { drop }] of flexible.entries())
    if (shown[column] === true && drop !== undefined && drop > (found === null ? -1 : (flexible[found]?.drop ?? -1)))
      found = column;
  return found;
}

function total(widths: readonly number[]): number {
  const shown = widths.filter((one) => one > 0);
  return shown.reduce((sum, one) => sum + one, 0) + GAP.length * Math.max(0, shown.length - 1);
}

function lineOf(line: readonly Cell[], widths: readonly number[], width: number | null): string {
  let text = '';
  let used = 0;
  let pending = '';
  for (const [column, { text: whole, paint }] of line.entries()) {
    const cell = widths[column] ?? 0;
    if (cell === 0) continue;
    const room = width === null ? cell : Math.min(cell, width - used - pending.length);
    if (room <= 0) break;
    const shown = cutTo(whole, room);
    text += shown === '' ? '' : `${pending}${paint === null ? shown : `${paint}${shown}${PLAIN}`}`;
    const behind = ' '.repeat(cell - displayWidth(shown)) + GAP;
    if (shown === '') pending += behind;
    else {
      used += pending.length + displayWidth(shown);
      pending = behind;
    }
  }
  return text;
}

/** The beginning of a text that takes at most so many columns of a terminal, with an ellipsis where it is cut. */
export function cutTo(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let cut = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += displayWidth(segment);
    if (used > columns - 1) break;
    cut += segment;
  }
  return `${cut.trimEnd()}${ELLIPSIS}`;
}
