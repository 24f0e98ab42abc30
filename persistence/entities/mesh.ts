/** Networks of clusters: members, gateways, addresses that rest, and moves under way. */
import { defineEntity, p } from '@mikro-orm/core';
import { Cluster } from './cluster.ts';
import { dates, instant } from './columns.ts';
import { Node } from './node.ts';

/** Steps of a move that follow the one that is stored with the move itself. */
export const MESH_MOVE_STEPS = ['leave', 'join', 'names'] as const;

/** A node in the network of its cluster. */
export const MeshMember = defineEntity({
  name: 'MeshMember',
  tableName: 'mesh_member',
  properties: {
    node: () => p.oneToOne(Node).primary().deleteRule('cascade').updateRule('no action'),
    cluster: () => p.manyToOne(Cluster),
    hostIndex: p.integer(),
    publicKey: p.text().unique('mesh_member_public_key_taken'),
    listenPort: p.integer().nullable(),
    endpoints: p.json<readonly string[]>().columnType('json'),
    observed: p.text().nullable(),
    isStable: p.boolean().nullable(),
    relayRegion: p.integer().nullable(),
    ...dates,
  },
  uniques: [{ name: 'mesh_member_address', properties: ['cluster', 'hostIndex'] }],
});

/** An address that is nobody's for a day. */
export const MeshReleased = defineEntity({
  name: 'MeshReleased',
  tableName: 'mesh_released',
  properties: {
    cluster: () => p.manyToOne(Cluster).primary().deleteRule('cascade').updateRule('no action'),
    hostIndex: p.integer().primary(),
    releasedAt: instant(),
  },
});

/** Where the owner of a cluster is in its network. */
export const MeshGateway = defineEntity({
  name: 'MeshGateway',
  tableName: 'mesh_gateway',
  properties: {
    cluster: () => p.oneToOne(Cluster).primary().deleteRule('cascade').updateRule('no action'),
    adminId: p.uuid(),
    epoch: p.bigint('string'),
    publicKey: p.text().index('mesh_gateway_of_key'),
    listenPort: p.integer(),
    endpoints: p.json<readonly string[]>().columnType('json'),
    relayRegion: p.integer().nullable(),
    updatedAt: instant(),
  },
});

/** A move whose later steps are not done yet. */
export const MeshMove = defineEntity({
  name: 'MeshMove',
  tableName: 'mesh_move',
  properties: {
    node: () => p.oneToOne(Node).primary().deleteRule('cascade').updateRule('no action'),
    fromClusterId: p.uuid(),
    fromName: p.text(),
    toClusterId: p.uuid(),
    step: p.enum([...MESH_MOVE_STEPS]).default('leave'),
    insertedAt: instant(),
  },
});
