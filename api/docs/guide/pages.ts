/** All guide pages by their paths. Source of the paths: docs/api.md, Surfaces. */
import { clustersPage } from './clusters.ts';
import { commandsPage } from './commands.ts';
import { eventsPage } from './events.ts';
import { integratorsPage } from './integrators.ts';
import { metricsPage } from './metrics.ts';
import { nodesPage } from './nodes.ts';
import type { GuideFacts, GuidePage } from './page.ts';
import { proxyPage } from './proxy.ts';
import { sshPage } from './ssh.ts';
import { startPage } from './start.ts';

/** Path → page. */
export const GUIDE_PAGES: Readonly<Record<string, (facts: GuideFacts) => GuidePage>> = {
  '/': startPage,
  '/guide/clusters': clustersPage,
  '/guide/nodes': nodesPage,
  '/guide/commands': commandsPage,
  '/guide/proxy': proxyPage,
  '/guide/ssh': sshPage,
  '/guide/metrics': metricsPage,
  '/guide/events': eventsPage,
  '/guide/integrators': integratorsPage,
};
