/** Lists of nodes to which somebody gave a name: kept in the browser. Pure. */
import { queryOf, searchOf } from './query.ts';

/** Views that one browser keeps, and characters of a name and of what is asked for. */
export const VIEWS_MAX = 30;
export const VIEW_NAME_CHARACTERS_MAX = 60;
const VIEW_SEARCH_CHARACTERS_MAX = 4_000;

/** A name, and the end of the address of its list. */
export interface View {
  readonly name: string;
  readonly search: string;
}

/** Views that a browser kept: what is none is left out, and what they ask for is read as an address is. */
export function viewsIn(kept: unknown): readonly View[] {
  if (!Array.isArray(kept)) return [];
  const views: View[] = [];
  for (const one of kept as readonly unknown[]) {
    if (typeof one !== 'object' || one === null) continue;
    const { name, search } = one as { readonly name?: unknown; readonly search?: unknown };
    if (typeof name !== 'string' || typeof search !== 'string' || search.length > VIEW_SEARCH_CHARACTERS_MAX) continue;
    const trimmed = name.trim().slice(0, VIEW_NAME_CHARACTERS_MAX);
    if (trimmed === '' || views.some((other) => other.name === trimmed)) continue;
    views.push({ name: trimmed, search: searchOf(queryOf(search)) });
  }
  return views.slice(0, VIEWS_MAX);
}

/** With this one, in place of one of its name, sorted by name. Null: there are as many as are kept. */
export function withView(views: readonly View[], view: View): readonly View[] | null {
  const others = views.filter(({ name }) => name !== view.name);
  if (others.length >= VIEWS_MAX) return null;
  return [...others, view].sort((one, other) => (one.name < other.name ? -1 : 1));
}
