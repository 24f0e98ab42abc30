/**
 * `node deploy/dashboards.ts` writes the dashboards in `deploy/grafana/dashboards/` from what stands in
 * `deploy/grafana/`. A test holds the two equal.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { admin } from './grafana/admin.ts';
import { commands } from './grafana/commands.ts';
import { fleet } from './grafana/fleet.ts';
import { grafanaDashboard } from './grafana/layout.ts';
import type { Dashboard } from './grafana/layout.ts';
import { node } from './grafana/node.ts';

/** Where they are written. */
export const DASHBOARD_DIRECTORY = fileURLToPath(new URL('grafana/dashboards', import.meta.url));

/** All of them. */
export const DASHBOARDS: readonly Dashboard[] = [fleet, node, commands, admin];

/** Name and text of the file of a dashboard. */
export function dashboardFile(dashboard: Dashboard): { readonly name: string; readonly text: string } {
  return { name: `${dashboard.uid}.json`, text: `${JSON.stringify(grafanaDashboard(dashboard), null, 1)}\n` };
}

if (import.meta.main) {
  for (const { name, text } of DASHBOARDS.map(dashboardFile)) writeFileSync(join(DASHBOARD_DIRECTORY, name), text);
}
