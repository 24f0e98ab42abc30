/** The pages of the console, and their addresses. No browser is needed for it. */

/** Below which all of them are. */
export const BASE = '/console';

/** Parts of the navigation, in their order. */
export const GROUPS = ['fleet', 'work', 'access', 'service'] as const;
/** One of them. */
export type Group = (typeof GROUPS)[number];

/** Where a page is. */
interface Place {
  /** Below BASE. `:id` is whatever stands there, decoded. */
  readonly path: string;
  /** Null: the navigation does not lead there. */
  readonly group: Group | null;
  /** The key that leads there after `g`. */
  readonly jump?: string;
}

/** All pages. Their names are those of their texts and of the files in `pages/`. */
export const ROUTES = {
  overview: { path: '', group: 'fleet', jump: 'o' },

  nodes: { path: 'nodes', group: 'fleet', jump: 'n' },

  node: { path: 'nodes/:id', group: null },

  run: { path: 'run', group: 'work', jump: 'r' },

  commands: { path: 'commands', group: 'work', jump: 'c' },

  command: { path: 'commands/:id', group: null },

  executions: { path: 'executions', group: 'work' },

  clusters: { path: 'clusters', group: 'fleet', jump: 'l' },
  cluster: { path: 'clusters/:id', group: null },

  groups: { path: 'groups', group: 'fleet' },
  group: { path: 'groups/:id', group: null },

  aliases: { path: 'aliases', group: 'fleet' },

  events: { path: 'events', group: 'work', jump: 'e' },

  updates: { path: 'updates', group: 'work' },
  update: { path: 'updates/:id', group: null },

  'enrollment-keys': { path: 'enrollment-keys', group: 'access' },

  ssh: { path: 'ssh', group: 'access' },
  'ssh-username': { path: 'ssh/:id', group: null },

  webhooks: { path: 'webhooks', group: 'service' },
  webhook: { path: 'webhooks/:id', group: null },
  deliveries: { path: 'deliveries', group: 'service' },

  admins: { path: 'admins', group: 'service', jump: 'a' },
  admin: { path: 'admins/:id', group: null },

  health: { path: 'health', group: 'service', jump: 'h' },

  recordings: { path: 'recordings', group: 'access' },
  recording: { path: 'recordings/:id', group: null },

  terminal: { path: 'nodes/:id/terminal', group: null },

  sessions: { path: 'sessions', group: 'service', jump: 's' },
} as const satisfies Record<string, Place>;

/** The name of a page. */
export type PageName = keyof typeof ROUTES;

/** All of them, in the order of the navigation. */
export const PAGE_NAMES = Object.keys(ROUTES) as PageName[];

/** Where it is. */
export function placeOf(page: PageName): Place {
  return ROUTES[page];
}

/** Pages that need nothing in their address, in the order of the navigation: whoever looks for one may go there. */
export const OWN_PAGES = PAGE_NAMES.filter((page) => !placeOf(page).path.includes(':id'));

/** The page of the navigation that a page belongs to: itself, or the one above it. Null: there is none. */
export function sectionOf(page: PageName): PageName | null {
  const parts = partsOf(placeOf(page).path);
  const above = OWN_PAGES.filter((one) => placeOf(one).group !== null).filter((one) => {
    const places = partsOf(placeOf(one).path);
    return places.length === 0 ? parts.length === 0 : places.every((part, index) => part === parts[index]);
  });
  return (
    above.toSorted((one, other) => partsOf(placeOf(other).path).length - partsOf(placeOf(one).path).length)[0] ?? null
  );
}

/** A page with what its address says of it. */
export interface Route {
  readonly page: PageName | 'unknown';
  /** What stands for `:id`; null: nothing does. */
  readonly id: string | null;
  /** The query, as it stands in the address: empty, or with its `?`. */
  readonly search: string;
}

/** The page of an address. */
export function routeOf({ pathname, search }: { readonly pathname: string; readonly search: string }): Route {
  const parts = partsOf(pathname.slice(BASE.length));
  for (const page of PAGE_NAMES) {
    const places = partsOf(placeOf(page).path);
    if (places.length !== parts.length) continue;
    if (!places.every((part, index) => part === ':id' || part === parts[index])) continue;
    const at = places.indexOf(':id');
    const id = at < 0 ? null : decoded(parts[at] ?? '');
    if (at < 0 || id !== null) return { page, id, search };
  }
  return { page: 'unknown', id: null, search };
}

/** Where a page is. `search`: its query, with `?`. */
export function addressOf(page: PageName, { id = '', search = '' } = {}): string {
  const path = partsOf(placeOf(page).path).map((part) => (part === ':id' ? encodeURIComponent(id) : part));
  return [BASE, ...path].join('/') + search;
}

/** The same of a page by a name that may be none; null: there is no such page. */
export function addressIfThere(
  name: string,
  filling: { readonly id?: string; readonly search?: string } = {},
): string | null {
  const page = PAGE_NAMES.find((one) => one === name);
  return page === undefined ? null : addressOf(page, filling);
}

/** Whether an address of this origin is a page of the console, and not a file or a route of it. */
export function isPage(pathname: string): boolean {
  return (
    pathname === BASE ||
    (pathname.startsWith(`${BASE}/`) && !/^\/console\/(?:assets|session|live|terminal)(?:\/|$)/u.test(pathname))
  );
}

function partsOf(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '');
}

/** Null: what stands there was encoded by nobody. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
