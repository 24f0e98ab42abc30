/** Which columns the list of nodes has, in which order. Pure. */

/** All beside the name, which always stands first. */
export const COLUMNS = [
  'status',
  'since',
  'cluster',
  'version',
  'labels',
  'aliases',
  'os',
  'arch',
  'seen',
  'id',
  'why',
] as const;
/** One of them. */
export type ColumnName = (typeof COLUMNS)[number];

/** What one sees who chose nothing. */
export const DEFAULT_COLUMNS: readonly ColumnName[] = ['status', 'since', 'cluster', 'version', 'labels', 'why'];

/** Columns that a browser kept; what is none is left out. Null: nobody chose any. */
export function columnsIn(kept: unknown): readonly ColumnName[] | null {
  if (!Array.isArray(kept)) return null;
  const named = (kept as readonly unknown[]).filter((one): one is ColumnName =>
    COLUMNS.some((column) => column === one),
  );
  return [...new Set(named)];
}

/** With a column, as the last one, or without it. */
export function withToggled(columns: readonly ColumnName[], name: ColumnName): readonly ColumnName[] {
  return columns.includes(name) ? columns.filter((one) => one !== name) : [...columns, name];
}

/** With a column one place further to the front. */
export function withEarlier(columns: readonly ColumnName[], name: ColumnName): readonly ColumnName[] {
  const at = columns.indexOf(name);
  const before = columns[at - 1];
  if (before === undefined) return columns;
  return [...columns.slice(0, at - 1), name, before, ...columns.slice(at + 1)];
}
