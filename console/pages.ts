/** What draws each page: the first ones belong to the first load, all others come when they are wanted. */
import type { ComponentType } from 'preact';
import { NodesPage } from './pages/nodes.tsx';
import { OverviewPage } from './pages/overview.tsx';
import type { PageProps } from './page-props.ts';
import type { PageName } from './routes.ts';

type Page = ComponentType<PageProps>;

/** A page, or how it is loaded. */
export type PageSource = { readonly page: Page } | { readonly load: () => Promise<Page> };

/** By their names. */
export const PAGES: Readonly<Record<PageName, PageSource>> = {
  overview: { page: OverviewPage },

  nodes: { page: NodesPage },

  node: { load: async () => (await import('./pages/node/node.tsx')).NodePage },

  run: { load: async () => (await import('./pages/run/run.tsx')).RunPage },

  commands: { load: async () => (await import('./pages/commands.tsx')).CommandsPage },

  command: { load: async () => (await import('./pages/command/command.tsx')).CommandPage },

  executions: { load: async () => (await import('./pages/executions.tsx')).ExecutionsPage },

  sessions: { load: async () => (await import('./pages/sessions.tsx')).SessionsPage },
};
