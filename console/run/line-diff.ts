/** How one text differs from another, line by line. Pure. */

/**
 * Lines of a text that are compared: comparing takes the square of it, and 1,000 take a few ms. Equals that of `edge
 * run --diff`.
 */
export const DIFF_LINES_MAX = 1_000;

/** Lines around a difference. Source: diff -u. */
const CONTEXT_LINES = 3;

/** A line: the same, gone or new; `gap` stands for lines that are the same and far from any difference. */
export interface DiffLine {
  readonly kind: 'same' | 'gone' | 'new' | 'gap';
  readonly text: string;
}

/** A comparison. */
export interface LineDiff {
  readonly lines: readonly DiffLine[];
  /** One of them has more lines than were compared. */
  readonly isCut: boolean;
  /** No line differs: only what is not compared does, or the end of the last line. */
  readonly isSame: boolean;
}

/** From `before` to `after`. */
export function lineDiff(before: string, after: string): LineDiff {
  const [old, now] = [linesOf(before), linesOf(after)];
  const isCut = old.length > DIFF_LINES_MAX || now.length > DIFF_LINES_MAX;
  const all = compared(old.slice(0, DIFF_LINES_MAX), now.slice(0, DIFF_LINES_MAX));
  return { lines: withoutTheSame(all), isCut, isSame: all.every(({ kind }) => kind === 'same') };
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** By the longest common subsequence; what is the same at both ends is left out of the search for it. */
function compared(old: readonly string[], now: readonly string[]): readonly DiffLine[] {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ kind: 'same', text }));
  return [
    ...same(old.slice(0, head)),
    ...changed(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...same(old.slice(old.length - tail)),
  ];
}

function changed(old: readonly string[], now: readonly string[]): readonly DiffLine[] {
  const width = now.length + 1;
  const common = new Uint16Array((old.length + 1) * width); // of the ends that begin at each pair of lines
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = now.length - 1; column >= 0; column -= 1)
      common[row * width + column] =
        old[row] === now[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < now.length) {
    const [gone, come] = [old[row], now[column]];
    if (gone !== undefined && gone === come) {
      lines.push({ kind: 'same', text: gone });
      row += 1;
      column += 1;
    } else if (gone !== undefined && (come === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ kind: 'gone', text: gone });
      row += 1;
    } else {
      lines.push({ kind: 'new', text: come ?? '' });
      column += 1;
    }
  }
  return lines;
}

function withoutTheSame(lines: readonly DiffLine[]): readonly DiffLine[] {
  const near = new Uint8Array(lines.length);
  for (const [index, { kind }] of lines.entries())
    if (kind !== 'same') near.fill(1, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1);
  return lines.flatMap((line, index): DiffLine[] => {
    if (near[index] === 1) return [line];
    return index === 0 || near[index - 1] === 1 ? [{ kind: 'gap', text: '' }] : [];
  });
}
