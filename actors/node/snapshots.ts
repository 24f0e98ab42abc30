/** Full snapshots for events, in the field names of the API. Nulls are explicit, secrets and addresses never appear. */
import type { ExecutionSnapshot } from '../event-types/command-execution.ts';
import type { NodeSnapshot } from '../event-types/node.ts';
import type { AliasRecord, NodeRecord, OpenExecution } from '../records.ts';
import type { ExecutionStatus } from '../resources/command.ts';
import { instant } from '../resources/instant.ts';
import { displayName } from './display-name.ts';

/** `data` of node events. Source: docs/events.md. */
export function nodeSnapshot(node: NodeRecord, aliases: readonly Pick<AliasRecord, 'name'>[]): NodeSnapshot {
  return {
    node_id: node.id,
    name: displayName(node, aliases),
    cluster_name: node.clusterName,
    status: node.status,
    version: node.version,
    id_type: node.idType,
    ...node.ports,
    self_update_enabled: node.selfUpdateEnabled,
    facts: node.facts,
    labels: node.labels,
    last_seen_at: instant(node.lastSeenAtMs),
    inserted_at: instant(node.insertedAtMs),
    updated_at: instant(node.updatedAtMs),
  };
}

/** What an execution event says beyond the open execution it is about. */
export interface ExecutionProgress {
  readonly status: ExecutionStatus;
  readonly exitCode: number | null;
  readonly sentAtMs: number | null;
  readonly completedAtMs: number | null;
  readonly cancelledAtMs: number | null;
  readonly updatedAtMs: number;
}

/** `data` of command execution events, without the output. Source: docs/events.md. */
export function executionSnapshot(
  execution: Pick<OpenExecution, 'id' | 'command' | 'node' | 'clusterName' | 'insertedAtMs'>,
  progress: ExecutionProgress,
): ExecutionSnapshot {
  return {
    command_execution_id: execution.id,
    command_id: execution.command.id,
    node_id: execution.node,
    cluster_name: execution.clusterName,
    command_text: execution.command.text,
    timeout: execution.command.timeoutMs,
    status: progress.status,
    exit_code: progress.exitCode,
    target_all: execution.command.targetAll,
    expired_at: instant(execution.command.expiredAtMs),
    sent_at: instant(progress.sentAtMs),
    completed_at: instant(progress.completedAtMs),
    cancelled_at: instant(progress.cancelledAtMs),
    inserted_at: instant(execution.insertedAtMs),
    updated_at: instant(progress.updatedAtMs),
  };
}
