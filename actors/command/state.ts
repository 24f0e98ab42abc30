/** What a command's actor holds: how far it is, and which executions are still open. */
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import type { CommandSummary } from '../resources/command.ts';

/** An execution that is not terminal, and where it runs. */
export interface OpenAt {
  readonly node: NodeId;
  readonly status: 'pending' | 'sent';
}

/**
 * The state of one command. `summary` counts every execution, `open` holds those that are not terminal: when it is
 * empty, the actor ends. It also ends when it hears nothing for long. What runs, and whom it names, stays in its row:
 * many commands wait for nodes that are away, and each of them may be 1 MiB.
 */
export interface CommandState {
  readonly id: CommandId;
  /** False only before its creation. */
  readonly isCreated: boolean;
  readonly summary: CommandSummary;
  readonly open: ReadonlyMap<ExecutionId, OpenAt>;
}

/** The summary of a command that targets nothing, and of one that is not stored yet. */
export const EMPTY_SUMMARY: CommandSummary = {
  total: 0,
  pending: 0,
  sent: 0,
  completed: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  dropped: 0,
};
