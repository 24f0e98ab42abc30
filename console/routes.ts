/** The pages of the console, and their addresses. No browser is needed for it. */
import { queryOf, searchOf, type NodesQuery } from './fleet/query.ts';

/** Below which all of them are. */
export const BASE = '/console';

/** A page with what its address says of it. */
export type Route =
  | { readonly page: 'overview' }
  | { readonly page: 'nodes'; readonly query: NodesQuery }
  | { readonly page: 'sessions' }
  | { readonly page: 'unknown' };

/** The page of an address. */
export function routeOf({ pathname, search }: { readonly pathname: string; readonly search: string }): Route {
  switch (pathname.slice(BASE.length).replaceAll(/^\/+|\/+$/gu, '')) {
    case '':
      return { page: 'overview' };
    case 'nodes':
      return { page: 'nodes', query: queryOf(search) };
    case 'sessions':
      return { page: 'sessions' };
    default:
      return { page: 'unknown' };
  }
}

/** Where a page is. */
export function addressOf(route: Exclude<Route, { page: 'unknown' }>): string {
  switch (route.page) {
    case 'overview':
      return BASE;
    case 'nodes':
      return `${BASE}/nodes${searchOf(route.query)}`;
    case 'sessions':
      return `${BASE}/sessions`;
    default:
      return route satisfies never;
  }
}

/** Whether an address of this origin is a page of the console, and not a file or a route of it. */
export function isPage(pathname: string): boolean {
  return (
    pathname === BASE ||
    (pathname.startsWith(`${BASE}/`) && !/^\/console\/(?:assets|session|live)(?:\/|$)/u.test(pathname))
  );
}
