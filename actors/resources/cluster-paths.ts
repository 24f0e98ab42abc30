/** Which way the members of a VPN reach each other, as clients see it. */
import { z } from 'zod';
import { VPN_PATHS, VPN_PEERS_MAX } from '../../transport/protocol/vpn.ts';
import { NODE_STATUSES } from './node.ts';
import { resource, type Given } from './resource.ts';

/** Members that are asked: the advised size of a cluster is 50 to 100 nodes (docs/limits.md). */
export const PATH_MEMBERS_MAX = 50;

const path = z.object({
  node_id: z.uuid().nullable().describe('Null: the gateway, which the admin that owns the cluster runs.'),
  path: z.enum(VPN_PATHS),
  handshake_age_seconds: z.int().min(0).nullable().describe('Null: there was none.'),
});
/** How one member reaches another. */
export type MemberPath = Given<typeof path>;

const member = z.object({
  node_id: z.uuid(),
  name: z.string(),
  status: z.enum(NODE_STATUSES),
  problem: z.string().nullable().describe('Why its paths are not known; null: they are.'),
  paths: z.array(path).describe('To members that are in this answer, and to the gateway.'),
  counts: z.object({ direct: z.int(), relayed: z.int(), none: z.int() }).describe('Its paths to all members.'),
});
/** A member, with its own view. */
export type PathMember = Given<typeof member>;

/** All of them. */
export const ClusterPathsResource = resource('ClusterPaths', 'Paths between the members of a VPN, as they have them.', {
  cluster_name: z.string(),
  member_count: z.int().describe('Nodes of the cluster.'),
  members: z.array(member).max(PATH_MEMBERS_MAX).describe(`The first ${PATH_MEMBERS_MAX} by when they joined.`),
});
export type ClusterPathsResource = z.output<typeof ClusterPathsResource>;

const peer = path.extend({
  name: z.string().nullable().describe('Null: the gateway.'),
  status: z.enum(NODE_STATUSES).nullable().describe('Null: the gateway.'),
});
/** How one member reaches another, who has a name. */
export type PeerPath = Given<typeof peer>;

/** One member's own view: of all its peers, as a VPN has VPN_PEERS_MAX members at most. */
export const NodePathsResource = resource(
  'NodePaths',
  'How a member of a VPN reaches its peers, as its agent has it.',
  {
    node_id: z.uuid(),
    cluster_name: z.string(),
    problem: z.string().nullable().describe('Why its paths are not known; null: they are.'),
    paths: z.array(peer).max(VPN_PEERS_MAX).describe('The gateway first, then by name. Empty: it is in no VPN.'),
  },
);
export type NodePathsResource = z.output<typeof NodePathsResource>;
