/** Keys in a table that is drawn whole: from row to row, as in every list. */
import type { TargetedKeyboardEvent } from 'preact';
import { rowAfter } from '../fleet/window.ts';

/** Rows of a window, where nobody counts them. */
const WINDOW_ROWS = 10;

/**
 * For `onKeyDown` of the region around a table. A row is come to by what opens it (`data-opens`), else by its first
 * link or button that can be used, so that Enter opens it; a row that has neither takes the focus itself.
 */
export function toRow(event: TargetedKeyboardEvent<HTMLElement>): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('tbody tr:not(.group)')];
  const present = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rowAfter(event.key, present, rows.length, WINDOW_ROWS);
  const row = next === null ? undefined : rows[next];
  if (row === undefined) return;
  event.preventDefault();
  const within = row.querySelector<HTMLElement>('[data-opens]') ?? row.querySelector<HTMLElement>('a, button:enabled');
  if (within === null) row.tabIndex = -1;
  (within ?? row).focus();
}
