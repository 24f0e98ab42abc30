/** This admin and its health, and all admins. */
import { z } from 'zod';
import { ok, type Result } from '../../actors/refusal.ts';
import { isDegraded } from '../../actors/standing.ts';
import { nothing, storableText } from '../inputs/inputs.ts';
import { inputOf } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import type { PeerAdmin } from '../admin-ports.ts';
import { linked } from '../forwarding/peer-admin-links.ts';
import type { OperationPorts } from '../ports.ts';
import { found } from '../reading.ts';
import {
  AdminClusterResource,
  AdminResource,
  EdgeClustersResource,
  MyAdminClusterResource,
  OrphanedClustersResource,
} from '../../actors/resources/admin.ts';
import { PEER_ADMIN_STATUSES, PeerAdminResource } from '../../actors/resources/peer-admin.ts';
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
    'List the clusters for which no admin has room, with the host names of their nodes. Empty while there is room for all.',
  rest: { method: 'GET', path: '/admins/orphaned_clusters', status: 200 },
  input: nothing,
  output: OrphanedClustersResource,
  handle: async (_input, { ports }) => {
    const orphans = ports.standing().orphans.map(({ cluster }) => cluster);
    return ok(orphans.length === 0 ? {} : await ports.adminTopology.ownerless(orphans));
  },
});

/** Longest name, and longest id. */
const NAME_OR_ID_MAX = 63;

const anyAdmin = z.strictObject({ name: storableText(NAME_OR_ID_MAX).min(1).describe('Name or id of the admin.') });

export const list_admins = operation({
  name: 'list_admins',
  kind: 'query',
  summary:
    'List all admins by name: since when they run, when last heard, what they own and have room for, and whether the one that answers gets to them.',
  rest: { method: 'GET', path: '/admins', status: 200 },
  list: true,
  input: inputOf({ fields: { status: { kind: PEER_ADMIN_STATUSES, ops: ['in'] } }, sortable: ['name'] }),
  output: PeerAdminResource,
  handle: async ({ filters: [filter], page, pageSize, sort: [sort] }, { ports }) => {
    const wanted = filter === undefined ? PEER_ADMIN_STATUSES : (filter.value as readonly string[]);
    const byName = (await ports.peerAdmins.list()).filter(({ status }) => wanted.includes(status));
    const all = sort?.descending === true ? byName.toReversed() : byName;
    const rows = all.slice((page - 1) * pageSize, page * pageSize).map((admin) => linked(admin, ports));
    return ok({ rows, totalCount: all.length });
  },
});

export const get_peer_admin = operation({
  name: 'get_peer_admin',
  kind: 'query',
  summary: 'Get an admin by name or id, with the clusters that it owns, since when and under which epoch.',
  rest: { method: 'GET', path: '/admins/:name', status: 200 },
  input: anyAdmin,
  output: PeerAdminResource,
  handle: async ({ name }, { ports }) => found(withClusters(await ports.peerAdmins.find(name), ports)),
});

export const drain_admin = operation({
  name: 'drain_admin',
  kind: 'mutation',
  summary:
    'Before maintenance: have an admin hand its clusters to others and take none, also after a restart, until resume_admin. Refused while no other can take them.',
  rest: { method: 'POST', path: '/admins/:name/drain', status: 200 },
  hints: { destructive: false, idempotent: true },
  conflicts: true,
  input: anyAdmin,
  output: PeerAdminResource,
  handle: async ({ name }, { ports }) => changed(await ports.peerAdmins.drain(name), ports),
});

export const resume_admin = operation({
  name: 'resume_admin',
  kind: 'mutation',
  summary: 'Let an admin that was drained take clusters again.',
  rest: { method: 'POST', path: '/admins/:name/resume', status: 200 },
  hints: { destructive: false, idempotent: true },
  input: anyAdmin,
  output: PeerAdminResource,
  handle: async ({ name }, { ports }) => changed(await ports.peerAdmins.resume(name), ports),
});

async function withClusters(admin: PeerAdmin | null, ports: OperationPorts): Promise<PeerAdminResource | null> {
  return admin === null ? null : { ...linked(admin, ports), clusters: await ports.peerAdmins.clustersOf(admin.id) };
}

async function changed(result: Result<PeerAdmin>, ports: OperationPorts): Promise<Result<PeerAdminResource>> {
  if (!result.ok) return result;
  return ok({ ...linked(result.value, ports), clusters: await ports.peerAdmins.clustersOf(result.value.id) });
}

export const check_admin_health = operation({
  name: 'check_admin_health',
  kind: 'query',
  summary: 'Run all subsystem checks of this admin at once and tell which passed.',
  rest: null,
  input: nothing,
  output: HealthView,
  handle: async (_input, { ports }) => {
    const checks = await ports.recentHealth();
    return ok({ healthy: checks.every((check) => check.healthy), checks });
  },
});
