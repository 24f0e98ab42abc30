/** This admin and its health. */
import { ok } from '../../actors/refusal.ts';
import { isDegraded } from '../../actors/standing.ts';
import { nothing } from '../inputs.ts';
import { inputOf } from '../list-input.ts';
import { operation } from '../operation.ts';
import {
  AdminClusterResource,
  AdminResource,
  EdgeClustersResource,
  MyAdminClusterResource,
  OrphanedClustersResource,
} from '../../actors/resources/admin.ts';
import { HealthView } from '../views/health.ts';

export const get_admin = operation({
  name: 'get_admin',
  kind: 'query',
  summary: 'Get the identity, version and capacity of the admin that answers.',
  rest: { method: 'GET', path: '/admins/me', status: 200 },
  input: nothing,
  output: AdminResource,
  handle: async (_input, { ports }) => {
    const listening = ports.proxyPorts();
    return ok({
      ...(await ports.admin.me()),
      proxies: listening === null ? null : { http_port: listening.http, socks5_port: listening.socks5 },
    });
  },
});

export const get_my_admin_cluster = operation({
  name: 'get_my_admin_cluster',
  kind: 'query',
  summary: 'Get the admins of this group that are alive, their capacity, and which of them owns which cluster.',
  rest: { method: 'GET', path: '/admins/my_admin_cluster', status: 200 },
  input: nothing,
  output: MyAdminClusterResource,
  handle: async (_input, { ports }) =>
    ok({ ...(await ports.adminTopology.mine()), degraded: isDegraded(ports.standing()) }),
});

export const list_admin_clusters = operation({
  name: 'list_admin_clusters',
  kind: 'query',
  summary: 'List all groups of admins that share this database, by name.',
  rest: { method: 'GET', path: '/admins/admin_clusters', status: 200 },
  list: true,
  input: inputOf({ fields: {}, sortable: ['name'] }),
  output: AdminClusterResource,
  handle: async ({ page, pageSize, sort: [sort] }, { ports }) => {
    const byName = await ports.adminTopology.adminClusters();
    const all = sort?.descending === true ? byName.toReversed() : byName;
    return ok({ rows: all.slice((page - 1) * pageSize, page * pageSize), totalCount: all.length });
  },
});

export const list_edge_clusters = operation({
  name: 'list_edge_clusters',
  kind: 'query',
  summary: 'List every cluster under the admin that owns it, with the host names of its nodes.',
  rest: { method: 'GET', path: '/admins/edge_clusters', status: 200 },
  input: nothing,
  output: EdgeClustersResource,
  handle: async (_input, { ports }) => ok(await ports.adminTopology.edgeClusters()),
});

export const list_orphaned_clusters = operation({
  name: 'list_orphaned_clusters',
  kind: 'query',
  summary:
    'List the clusters for which no admin has room, with the host names of their nodes. Empty while there is room for every cluster.',
  rest: { method: 'GET', path: '/admins/orphaned_clusters', status: 200 },
  input: nothing,
  output: OrphanedClustersResource,
  handle: async (_input, { ports }) => {
    const orphans = ports.standing().orphans.map(({ cluster }) => cluster);
    return ok(orphans.length === 0 ? {} : await ports.adminTopology.ownerless(orphans));
  },
});

export const check_admin_health = operation({
  name: 'check_admin_health',
  kind: 'query',
  summary: 'Run all subsystem checks of this admin at once and tell which passed.',
  rest: null,
  input: nothing,
  output: HealthView,
  handle: async (_input, { ports }) => {
    const checks = await ports.checkHealth();
    return ok({ healthy: checks.every((check) => check.healthy), checks });
  },
});
