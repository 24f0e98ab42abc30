/** An admin as operators see it among all that share a database. */
import { z } from 'zod';
import { resource, type Given } from './resource.ts';

/**
 * How an admin is. `live`: it checks in and takes clusters; `draining`: it checks in, gives its clusters away and takes
 * none; `silent`: it has not checked in for over 3 s, and others take its clusters; `gone`: for five minutes
 * (ADMIN_GONE_MS), or it was stopped.
 */
export const PEER_ADMIN_STATUSES = ['live', 'draining', 'silent', 'gone'] as const;
/** One of them. */
export type PeerAdminStatus = (typeof PEER_ADMIN_STATUSES)[number];

/** Clusters that a single read names; of more, these are the first by name. */
export const OWNED_CLUSTERS_MAX = 1_000;

/**
 * Whether the admin that answers gets to another one. `unknown`: not asked yet; `other_version`: it takes no calls of
 * this version; `self`: it is the one that answers.
 */
export const LINK_STATES = ['self', 'reached', 'unreached', 'unknown', 'other_version'] as const;

const link = z.object({
  from: z.string().describe('The admin that answers, whose link it is.'),
  state: z.enum(LINK_STATES).describe('unreached: two tries failed. other_version: it takes no calls of this one.'),
  since: z.iso.datetime().nullable().describe('Since when it is reached, or is not.'),
  reason: z.string().nullable().describe('Why it is not reached.'),
  latency_ms: z.number().nullable().describe('How long the last answer to a ping took.'),
});
/** How one admin gets to another. */
export type AdminLinkResource = Given<typeof link>;

const ownedCluster = z.object({
  cluster_name: z.string(),
  node_count: z.int(),
  epoch: z.int().describe('Rises with each change of owner, and with each start of it.'),
  owned_since: z.iso.datetime().nullable().describe('When this epoch began. Null: before that was noted.'),
  lease_until: z.iso.datetime(),
});
/** A cluster, as its owner lists it. */
export type OwnedClusterResource = Given<typeof ownedCluster>;

const problem = z.object({
  check: z.string().describe('Of the checks of an admin: event_broker, relay.'),
  problem: z.string(),
});
/** What does not work at an admin. */
export type AdminProblem = Given<typeof problem>;

/** An admin among all. */
export const PeerAdminResource = resource('PeerAdmin', 'One of the admins that share this database.', {
  id: z.uuid(),
  name: z.string(),
  status: z
    .enum(PEER_ADMIN_STATUSES)
    .describe(
      'live: checks in and takes clusters. draining: gives its clusters away and takes none. silent: has not checked in for over 3 s, others take its clusters. gone: not for five minutes, or it was stopped.',
    ),
  status_since: z.iso.datetime().nullable().describe('Of a silent or gone one: when it was heard last.'),
  draining_since: z.iso
    .datetime()
    .nullable()
    .describe('Also of one that is not there: it takes no clusters when it is back.'),
  admin_cluster_name: z.string().nullable().describe('Null, as all of its process: it was stopped.'),
  version: z.string().nullable(),
  url: z.string().nullable().describe('Where agents reach it.'),
  peer_url: z.string().nullable().describe('Where other admins reach it. Null: it has not said so yet.'),
  link_version: z.int().nullable().describe('Version of what it says to other admins. Null: of a release before that.'),
  started_at: z.iso.datetime().nullable(),
  last_checked_in: z.iso.datetime().nullable(),
  cluster_count: z.int().describe('Clusters that it owns now.'),
  node_count: z.int().describe('Nodes in them.'),
  edge_node_capacity: z.int().nullable().describe('Nodes that it may own beside the other admins that are alive.'),
  room: z.int().describe('Nodes that it could still take; 0 of one that takes no clusters.'),
  tasks: z.array(z.string()).describe('What one admin does at a time and it does now: broker, reconciler, and so on.'),
  problems: z
    .array(problem)
    .nullable()
    .describe('What only it can tell of its broker and relay. Null: it does not check in, or does not tell.'),
  link: link.nullable().describe('Null: it does not check in.'),
  clusters: z
    .array(ownedCluster)
    .max(OWNED_CLUSTERS_MAX)
    .optional()
    .describe(`On single reads only, by name, at most ${OWNED_CLUSTERS_MAX}.`),
});
/** One of all admins. */
export type PeerAdminResource = z.output<typeof PeerAdminResource>;
