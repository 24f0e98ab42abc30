/**
 * VPNs of clusters: members, gateways, addresses that rest, moves under way, hosts of the manager, and who reconciles.
 */
import { defineEntity, p } from '@mikro-orm/core';
import { Cluster } from './cluster.ts';
import { dates, instant } from './columns.ts';
import { Node } from './node.ts';

/** Steps of a move that follow the one that is stored with the move itself. */
export const VPN_MOVE_STEPS = ['leave', 'join', 'names'] as const;

/** A node in the VPN of its cluster. */
export const VpnMember = defineEntity({
  name: 'VpnMember',
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
export const VpnReleased = defineEntity({
  name: 'VpnReleased',
  tableName: 'mesh_released',
  properties: {
    cluster: () => p.manyToOne(Cluster).primary().deleteRule('cascade').updateRule('no action'),
    hostIndex: p.integer().primary(),
    releasedAt: instant(),
  },
});

/** Where the owner of a cluster is in its VPN. */
export const VpnGateway = defineEntity({
  name: 'VpnGateway',
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
export const VpnMove = defineEntity({
  name: 'VpnMove',
  tableName: 'mesh_move',
  properties: {
    node: () => p.oneToOne(Node).primary().deleteRule('cascade').updateRule('no action'),
    fromClusterId: p.uuid(),
    fromName: p.text(),
    toClusterId: p.uuid(),
    step: p.enum([...VPN_MOVE_STEPS]).default('leave'),
    insertedAt: instant(),
  },
});

/** Which host of the manager is which node. Never shown to anyone. */
export const VpnHost = defineEntity({
  name: 'VpnHost',
  tableName: 'vpn_host',
  properties: {
    nodeId: p.uuid().primary(),
    hostId: p.text().unique('vpn_host_taken'),
    insertedAt: instant(),
  },
});

/** Which admin does a task that one does at a time, by the database's clock. Called after the first of them. */
export const VpnLease = defineEntity({
  name: 'VpnLease',
  tableName: 'vpn_lease',
  properties: {
    name: p.text().primary(),
    adminId: p.uuid().nullable(),
    epoch: p.bigint('string'),
    leaseUntil: instant().nullable(),
  },
});
