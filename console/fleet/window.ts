/** Which rows of a long list stand in its window: all are equally high, so it is arithmetic. */

/** A part of a list: from the first one to before the last. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/** Rows above and below the window that are there already, so that scrolling never meets a blank one. */
export const OVERSCAN_ROWS = 12;

/** The rows to be drawn. All in CSS pixels; `count` rows of `rowHeight`. */
export function sliceOf(count: number, rowHeight: number, scrollTop: number, height: number): Slice {
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight);
  const last = Math.ceil((Math.max(0, scrollTop) + height) / rowHeight);
  const to = Math.min(count, last + OVERSCAN_ROWS);
  return { from: Math.max(0, Math.min(first - OVERSCAN_ROWS, to)), to };
}

/** Where to scroll so that a row is seen whole; null: it is. `above`: what covers the top of the window. */
export function scrollTo(
  row: number,
  rowHeight: number,
  { scrollTop, height, above }: { readonly scrollTop: number; readonly height: number; readonly above: number },
): number | null {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  const bottom = top + rowHeight + above;
  return bottom > scrollTop + height ? bottom - height : null;
}

/** Which row a key leads to from the present one; null: the key leads nowhere. `page`: rows of one window. */
export function rowAfter(key: string, row: number, count: number, page: number): number | null {
  const last = count - 1;
  const to = STEPS[key]?.(row, page, last);
  return to === undefined || count === 0 ? null : Math.min(last, Math.max(0, to));
}

const STEPS: Readonly<Record<string, (row: number, page: number, last: number) => number>> = {
  ArrowDown: (row) => row + 1,
  j: (row) => row + 1,
  ArrowUp: (row) => row - 1,
  k: (row) => row - 1,
  PageDown: (row, page) => row + page,
  PageUp: (row, page) => row - page,
  Home: () => 0,
  End: (_row, _page, last) => last,
};
