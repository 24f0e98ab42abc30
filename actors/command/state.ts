/** What a command's actor holds: how far it is, and which executions are still open. */
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import type { CommandRecord } from '../records.ts';
import type { CommandSummary } from '../resources.ts';

/** An execution that is not terminal, and where it runs. */
export interface OpenAt {
  readonly node: NodeId;
  readonly status: 'pending' | 'sent';
}

export interface CommandState {
  readonly id: CommandId;
  /** Null only before its creation is stored. */
  readonly record: CommandRecord | null;
  readonly summary: CommandSummary;
  readonly open: ReadonlyMap<ExecutionId, OpenAt>;
}

export const EMPTY_SUMMARY: CommandSummary = { total: 0, pending: 0, sent: 0, completed: 0, succeeded: 0, failed: 0, cancelled: 0, expired: 0, dropped: 0 };
