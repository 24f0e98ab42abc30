/** Clusters and who owns them. */
import { defineEntity, p } from '@mikro-orm/core';
import { cidr, dates, instant } from './columns.ts';

/** One full-mesh VPN of nodes. `nodeCount` is kept by the transactions that add and remove nodes. */
export const Cluster = defineEntity({
  name: 'Cluster',
  tableName: 'cluster',
  properties: {
    id: p.uuid().primary(),
    name: p.text().unique('cluster_name_taken'),
    ipv4Range: cidr().fieldName('ipv4_range'),
    ipv6Range: cidr().fieldName('ipv6_range'),
    nodeLimit: p.integer().nullable(),
    nodeCount: p.integer().default(0),
    ...dates,
  },
  indexes: [{ name: 'cluster_newest', properties: ['insertedAt', 'id'] }],
});

/** Which admin owns a cluster, for how long, by the database's clock (O1, O2). */
export const ClusterOwnership = defineEntity({
  name: 'ClusterOwnership',
  tableName: 'cluster_ownership',
  properties: {
    cluster: () => p.oneToOne(Cluster).primary().deleteRule('cascade').updateRule('no action'),
    adminId: p.uuid().nullable(),
    epoch: p.bigint('string'),
    leaseUntil: instant(),
    /** When this epoch began: kept by the database itself. Null: before that was noted. */
    ownedSince: instant().nullable(),
  },
});
