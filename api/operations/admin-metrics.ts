/** What this admin is doing. */
import { ok } from '../../actors/refusal.ts';
import { nothing } from '../inputs/inputs.ts';
import { operation } from '../operation.ts';
import { AdminMetricsView } from '../views/admin-metrics.ts';

export const get_admin_metrics = operation({
  name: 'get_admin_metrics',
  kind: 'query',
  scope: 'metrics',
  summary:
    'Get what the admin that answers is doing: event loop, memory, actors, commits, events, sessions, requests, database, proxies and more.',
  rest: { method: 'GET', path: '/admins/me/metrics', status: 200 },
  input: nothing,
  output: AdminMetricsView,
  handle: async (_input, { ports }) => ok(await ports.adminMetrics.resource()),
});
