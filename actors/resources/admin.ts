/** Admins and what they own, as clients see them. */
import { z } from 'zod';
import { resource, type Given } from './resource.ts';

/**
 * An admin that has not checked in for so long is gone, in ms: others own its clusters since long, and whoever looks
 * after the service has heard of it. It is listed as such and removed after ADMIN_FORGET_AFTER_MS.
 */
export const ADMIN_GONE_MS = 300_000;

const erlangName = z
  .string()
  .describe(
    '<name>@<host>, the host being that of the URL under which agents reach this admin. No Erlang node listens there.',
  );
const HOST_ID =
  'Id of this admin, by which it is known in the networks of the clusters that it owns. It stays over restarts.';
const vpnHostname = z
  .string()
  .nullable()
  .describe(
    'Null: an admin has no name of its own in the VPN. In the network of each cluster that it owns it is gateway.<cluster>.<domain>.',
  );

/** An admin. */
export const AdminResource = resource('Admin', 'The admin that answers.', {
  id: z.uuid(),
  name: z.string(),
  version: z.string(),
  role: z.literal('admin').describe('All admins are equal: there is no other role.'),
  admin_cluster_name: z.string().describe('ADMIN_CLUSTER_NAME: the same for all admins that share a database.'),
  erlang_node_name: erlangName,
  vpn_host_id: z.string().nullable().describe(HOST_ID),
  vpn_hostname: vpnHostname,
  max_wireguard_peers: z.int().describe('ADMIN_MAX_WIREGUARD_PEERS.'),
  admin_peer_count: z.int().describe('Other admins that are alive.'),
  edge_node_capacity: z.int().describe('max_wireguard_peers minus admin_peer_count.'),
  proxies: z
    .object({ http_port: z.int(), socks5_port: z.int() })
    .nullable()
    .describe('Where its proxies listen, by which people get into nodes; null: they are switched off.'),
  last_computed_at: z.iso
    .datetime()
    .describe('When this was computed, by the clock of the database: with each answer.'),
});
export type AdminResource = z.output<typeof AdminResource>;

const topologyEntry = z.object({
  name: z.string(),
  max_wireguard_peers: z.int(),
  admin_peer_count: z.int(),
  edge_node_capacity: z.int(),
  erlang_node_name: erlangName,
  vpn_host_id: z.uuid().describe(HOST_ID),
  vpn_hostname: vpnHostname,
});
/** An admin as one of many. Source: docs/api.md, Resources. */
export type AdminTopologyEntry = Given<typeof topologyEntry>;

/** The group of the admin that answers. */
export const MyAdminClusterResource = resource('MyAdminCluster', 'The admins of one group that are alive.', {
  name: z.string(),
  degraded: z
    .boolean()
    .describe('Whether there are more nodes than the admins have room for, or a cluster that fits none of them.'),
  total_admins: z.int(),
  total_edge_capacity: z.int(),
  total_nodes: z.int().describe('In the whole database.'),
  topology: z.array(topologyEntry),
  edge_clusters: z
    .record(z.string(), z.string())
    .describe('Name of each cluster to the name of the admin that owns it.'),
});
export type MyAdminClusterResource = z.output<typeof MyAdminClusterResource>;

/** A group of admins. */
export const AdminClusterResource = resource('AdminCluster', 'A group of admins that share this database.', {
  name: z.string(),
  admin_count: z.int(),
  ipv4_range: z
    .string()
    .nullable()
    .describe('Null: admins have no network of their own; each is in those of the clusters that it owns.'),
  ipv6_range: z.string().nullable().describe('Null, as ipv4_range.'),
  admins: z.array(
    z.object({
      name: z.string(),
      vpn_host_id: z.uuid().describe(HOST_ID),
      vpn_hostname: vpnHostname,
      status: z
        .enum(['healthy', 'unreachable', 'gone'])
        .describe(
          'Whether it has checked in lately; gone: not for five minutes. It is removed after ADMIN_FORGET_AFTER_MS.',
        ),
      last_checked_in: z.iso.datetime(),
    }),
  ),
});
export type AdminClusterResource = z.output<typeof AdminClusterResource>;

const hostNames = z.record(z.string(), z.array(z.string()));
/** Name of a cluster to the host names of its nodes. */
export type ClusterHostNames = Given<typeof hostNames>;

/** Name of an admin to names of its clusters, each with the host names of its nodes. */
export const EdgeClustersResource: z.ZodType<Readonly<Record<string, ClusterHostNames>>> = z
  .record(z.string(), hostNames)
  .meta({
    id: 'EdgeClusters',
    description: 'Name of each admin to the names of its clusters, and of each to the host names of its nodes.',
  });

/** The same of clusters without an owner. */
export const OrphanedClustersResource: z.ZodType<ClusterHostNames> = hostNames.meta({
  id: 'OrphanedClusters',
  description: 'Name of each cluster without an owner to the host names of its nodes.',
});
