/** Nodes and what belongs to them. */
import { defineEntity, p } from '@mikro-orm/core';
import { NODE_STATUSES, type StatusEvidence } from '../../actors/resources/node.ts';
import { Cluster } from './cluster.ts';
import { dates, hash, instant } from './columns.ts';
import { EnrollmentKey } from './enrollment-key.ts';

/** What a node's status rests on, and when it last changed: what clients see of it, and what damping asks for. */
export interface StatusDetail {
  readonly evidence: StatusEvidence | null;
  readonly changes_ms: readonly number[];
}

/** An agent's installation. Never leaves this process with its token hash or proxy password (E4). */
export const Node = defineEntity({
  name: 'Node',
  tableName: 'node',
  properties: {
    id: p.uuid().primary(),
    cluster: () => p.manyToOne(Cluster).index('node_of_cluster'),
    enrollmentKey: () => p.manyToOne(EnrollmentKey).nullable().deleteRule('set null').index('node_of_enrollment_key'),
    status: p.enum([...NODE_STATUSES]),
    statusSince: instant().defaultRaw('now()'),
    statusReason: p.text().nullable(),
    statusDetail: p.json<StatusDetail>().nullable(),
    version: p.text().index('node_version'),
    idType: p.enum(['persistent', 'random']),
    httpPort: p.integer(),
    sshPort: p.integer(),
    hostMetricsPort: p.integer(),
    wireguardMetricsPort: p.integer(),
    httpProxyPort: p.integer(),
    socks5ProxyPort: p.integer().fieldName('socks5_proxy_port'),
    selfUpdateEnabled: p.boolean(),
    tokenHash: hash().unique(),
    sealedProxyPassword: p.text(),
    machineSecretHash: hash().nullable(),
    lastSeenAt: instant().nullable(),
    ...dates,
  },
  indexes: [{ name: 'node_newest', properties: ['insertedAt', 'id'] }],
});

/**
 * A node that somebody deleted: its id is never let in again, and its agent is told so when it comes with its old
 * token. A row stays for good: about 100 bytes.
 */
export const DeletedNode = defineEntity({
  name: 'DeletedNode',
  tableName: 'deleted_node',
  properties: {
    id: p.uuid().primary(),
    tokenHash: hash().index('deleted_node_token'),
    deletedAt: instant(),
  },
});

/** A friendly name, unique in its cluster. */
export const Alias = defineEntity({
  name: 'Alias',
  tableName: 'alias',
  properties: {
    id: p.uuid().primary(),
    node: () => p.manyToOne(Node).deleteRule('cascade').index('alias_of_node'),
    cluster: () => p.manyToOne(Cluster),
    name: p.text(),
    ...dates,
  },
  uniques: [{ name: 'alias_name_taken', properties: ['cluster', 'name'] }],
});

/** A one-use key that lets a node with lost data back in (E2). */
export const RecoveryKey = defineEntity({
  name: 'RecoveryKey',
  tableName: 'recovery_key',
  properties: {
    node: () => p.oneToOne(Node).primary().deleteRule('cascade').updateRule('no action'),
    cluster: () => p.manyToOne(Cluster),
    keyHash: hash(),
    insertedAt: instant(),
  },
});
