/** Cuts rows into pages of at most `rowsMax`; no rows are one empty page, so that a snapshot always says something. */
export function paged<T>(rows: readonly T[], rowsMax: number): readonly (readonly T[])[] {
  const pages: T[][] = [];
  for (let from = 0; from < Math.max(rows.length, 1); from += rowsMax) pages.push(rows.slice(from, from + rowsMax));
  return pages;
}
