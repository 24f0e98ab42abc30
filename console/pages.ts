/** What draws each page: the first ones belong to the first load, all others come when they are wanted. */
import type { ComponentType } from 'preact';
import type { Fleet } from './fleet/feed.ts';
import type { Live } from './live.ts';
import { NodesPage } from './pages/nodes.tsx';
import { OverviewPage } from './pages/overview.tsx';
import type { PageName } from './routes.ts';
import type { Me } from './session.ts';

/** What every page gets. A page takes what it needs. */
export interface PageProps {
  readonly live: Live;
  readonly fleet: Fleet;
  readonly me: Me;
  /** What stands for `:id` in its address; empty: nothing does. */
  readonly id: string;
  /** The query of its address: empty, or with its `?`. */
  readonly search: string;
}

type Page = ComponentType<PageProps>;

/** A page, or how it is loaded. */
export type PageSource = { readonly page: Page } | { readonly load: () => Promise<Page> };

/** By their names. */
export const PAGES: Readonly<Record<PageName, PageSource>> = {
  overview: { page: OverviewPage },

  nodes: { page: NodesPage },

  sessions: { load: async () => (await import('./pages/sessions.tsx')).SessionsPage },
};
