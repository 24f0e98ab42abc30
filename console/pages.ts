/** What draws each page: the first one belongs to the first load, all others come when they are wanted. */
import type { ComponentType } from 'preact';
import { OverviewPage } from './pages/overview.tsx';
import type { PageProps } from './page-props.ts';
import type { PageName } from './routes.ts';

type Page = ComponentType<PageProps>;

/** A page, or how it is loaded. */
export type PageSource = { readonly page: Page } | { readonly load: () => Promise<Page> };

/** By their names. */
export const PAGES: Readonly<Record<PageName, PageSource>> = {
  overview: { page: OverviewPage },

  nodes: { load: async () => (await import('./pages/nodes.tsx')).NodesPage },

  node: { load: async () => (await import('./pages/node/node.tsx')).NodePage },

  run: { load: async () => (await import('./pages/run/run.tsx')).RunPage },

  commands: { load: async () => (await import('./pages/commands.tsx')).CommandsPage },

  command: { load: async () => (await import('./pages/command/command.tsx')).CommandPage },

  executions: { load: async () => (await import('./pages/executions.tsx')).ExecutionsPage },

  clusters: { load: async () => (await import('./pages/clusters.tsx')).ClustersPage },
  cluster: { load: async () => (await import('./pages/cluster.tsx')).ClusterPage },

  groups: { load: async () => (await import('./pages/groups.tsx')).GroupsPage },
  group: { load: async () => (await import('./pages/group.tsx')).GroupPage },

  aliases: { load: async () => (await import('./pages/aliases.tsx')).AliasesPage },

  events: { load: async () => (await import('./pages/events.tsx')).EventsPage },

  updates: { load: async () => (await import('./pages/updates.tsx')).UpdatesPage },
  update: { load: async () => (await import('./pages/update.tsx')).UpdatePage },

  'enrollment-keys': { load: async () => (await import('./pages/enrollment-keys.tsx')).EnrollmentKeysPage },

  ssh: { load: async () => (await import('./pages/ssh.tsx')).SshPage },
  'ssh-username': { load: async () => (await import('./pages/ssh-username.tsx')).SshUsernamePage },

  webhooks: { load: async () => (await import('./pages/webhooks.tsx')).WebhooksPage },
  webhook: { load: async () => (await import('./pages/webhook.tsx')).WebhookPage },
  deliveries: { load: async () => (await import('./pages/deliveries.tsx')).DeliveriesPage },

  admins: { load: async () => (await import('./pages/admins/admins.tsx')).AdminsPage },
  admin: { load: async () => (await import('./pages/admins/admin.tsx')).AdminPage },

  health: { load: async () => (await import('./pages/health.tsx')).HealthPage },

  recordings: { load: async () => (await import('./pages/recordings/recordings.tsx')).RecordingsPage },
  recording: { load: async () => (await import('./pages/recordings/recording.tsx')).RecordingPage },

  terminal: { load: async () => (await import('./pages/terminal/terminal.tsx')).TerminalPage },

  sessions: { load: async () => (await import('./pages/sessions.tsx')).SessionsPage },
};
