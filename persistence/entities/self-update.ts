/** Self-update requests and their nodes. */
import { defineEntity, p } from '@mikro-orm/core';
import type { SelfUpdateNodeState, SelfUpdateStatus } from '../../actors/resources/self-update.ts';
import type { Targeting } from '../../actors/targeting-schema.ts';
import { dates, instant } from './columns.ts';

/** `triggered` and `failed` count nodes, once it is completed. `revision` grows with each move of the request. */
export const SelfUpdateRequest = defineEntity({
  name: 'SelfUpdateRequest',
  tableName: 'self_update_request',
  properties: {
    id: p.uuid().primary(),
    targeting: p.json<Targeting>(),
    batchSize: p.integer().nullable(),
    maxFailures: p.integer().nullable(),
    healthTimeoutMs: p.integer(),
    status: p.text().$type<SelfUpdateStatus>().default('pending'), // its check is part of self_update_request_shape
    revision: p.integer().default(0),
    total: p.integer(),
    triggered: p.integer().nullable(),
    failed: p.integer().nullable(),
    completedAt: instant().nullable(),
    ...dates,
  },
});

/**
 * One node of a request. Plain columns: it outlives its node. `finishedAt`: nothing more comes of it but going back;
 * `judgedAt`: it takes no place of a batch any more.
 */
export const SelfUpdateNode = defineEntity({
  name: 'SelfUpdateNode',
  tableName: 'self_update_node',
  properties: {
    requestId: p.uuid().primary(),
    nodeId: p.uuid().primary(),
    clusterName: p.text(),
    state: p.text().$type<SelfUpdateNodeState>().default('waiting'), // its check is part of self_update_node_shape
    /** Null: the request was made by a release before. */
    wave: p.integer().nullable(),
    fromVersion: p.text().nullable(),
    toVersion: p.text().nullable(),
    error: p.text().nullable(),
    dueAt: instant().nullable(),
    askedAt: instant().nullable(),
    triggeredAt: instant().nullable(),
    judgedAt: instant().nullable(),
    finishedAt: instant().nullable(),
  },
});
