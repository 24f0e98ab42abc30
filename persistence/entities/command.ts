/** Commands and their executions. */
import { defineEntity, p } from '@mikro-orm/core';
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import type { Targeting } from '../../actors/targeting-schema.ts';
import { dates, instant } from './columns.ts';

/** A script for many nodes. `timeout` is in ms. */
export const Command = defineEntity({
  name: 'Command',
  tableName: 'command',
  properties: {
    id: p.uuid().primary(),
    commandText: p.text(),
    targeting: p.json<Targeting>(),
    timeout: p.integer().nullable(),
    expiredAt: instant().nullable(),
    traceparent: p.text().nullable(),
    ...dates,
  },
  indexes: [{ name: 'command_of_time', properties: ['insertedAt'] }],
});

/**
 * One node's share of a command. `commandId` and `nodeId` are plain columns: a finished execution outlives its node.
 */
export const CommandExecution = defineEntity({
  name: 'CommandExecution',
  tableName: 'command_execution',
  properties: {
    id: p.uuid().primary(),
    commandId: p.uuid(),
    nodeId: p.uuid(),
    clusterName: p.text(),
    targetAll: p.boolean(),
    status: p.text().$type<ExecutionStatus>().default('pending'), // its check is part of command_execution_shape
    exitCode: p.integer().nullable(),
    output: p.text().nullable(),
    outputTruncated: p.boolean().default(false),
    expiredAt: instant().nullable(),
    sentAt: instant().nullable(),
    completedAt: instant().nullable(),
    cancelledAt: instant().nullable(),
    cancelRequestedAt: instant().nullable(),
    finishedAt: instant().nullable(),
    ...dates,
  },
  uniques: [{ name: 'command_execution_once', properties: ['commandId', 'nodeId'] }],
  indexes: [{ name: 'command_execution_of_node', properties: ['nodeId', 'id'] }],
});

/** A piece of an output that is still arriving. */
export const ExecutionOutputPart = defineEntity({
  name: 'ExecutionOutputPart',
  tableName: 'execution_output_part',
  properties: { executionId: p.uuid().primary(), part: p.integer().primary(), text: p.text() },
});
