/** What is chosen of a list: ids, so that it stays chosen while rows change, move or leave the list. Pure. */

/** The chosen ids. */
export type Selection = ReadonlySet<string>;

/** Nothing is chosen. */
export const NOTHING: Selection = new Set();

/** With this one chosen, or not any more. */
export function toggled(chosen: Selection, id: string): Selection {
  const next = new Set(chosen);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** With all of these chosen too. */
export function withAll(chosen: Selection, ids: Iterable<string>): Selection {
  const next = new Set(chosen);
  for (const id of ids) next.add(id);
  return next.size === chosen.size ? chosen : next;
}

/** Without any of these. */
export function withoutAll(chosen: Selection, ids: Iterable<string>): Selection {
  const next = new Set(chosen);
  for (const id of ids) next.delete(id);
  return next.size === chosen.size ? chosen : next;
}

/**
 * With the rows from one place to another chosen too, whichever stands first. `from` below zero: the row where a range
 * would begin is not in the list any more, and it is the one row alone.
 */
export function withRange(
  chosen: Selection,
  { from, to, idAt }: { readonly from: number; readonly to: number; readonly idAt: (place: number) => string },
): Selection {
  const first = from < 0 ? to : Math.min(from, to);
  const last = from < 0 ? to : Math.max(from, to);
  return withAll(
    chosen,
    Array.from({ length: last - first + 1 }, (_, index) => idAt(first + index)),
  );
}

/** How many of a list are chosen: `some` stands for a few of them. */
export function shareOf(chosen: Selection, count: number, idAt: (place: number) => string): 'none' | 'some' | 'all' {
  if (chosen.size === 0 || count === 0) return 'none';
  let found = 0;
  // whatever the list holds, after one that is chosen and one that is not there is nothing more to know
  for (let place = 0; place < count; place += 1) {
    if (chosen.has(idAt(place))) found += 1;
    if (found > 0 && found < place + 1) return 'some';
  }
  return found === 0 ? 'none' : 'all';
}
