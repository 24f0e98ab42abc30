/** What is told inside this admin after a commit: small, live, never stored. Dashboards and command actors listen. */
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../transport/protocol/ids.ts';
import type { ExecutionStatus } from './resources/command.ts';

export type Notice =
  /** `again`: it may have been told before, so whoever counts leaves it out. */
  | {
      readonly type: 'execution-changed';
      readonly execution: ExecutionId;
      readonly command: CommandId;
      readonly node: NodeId;
      readonly clusterName: string;
      readonly status: ExecutionStatus;
      readonly exitCode: number | null;
      readonly again?: boolean;
    }
  /** Any field of the node that clients see, except `last_seen_at`. */
  | { readonly type: 'node-changed'; readonly node: NodeId }
  /** `isInDoubt`, here and below: the answer of the commit was lost. It may be told twice. */
  | { readonly type: 'node-removed'; readonly node: NodeId; readonly isInDoubt?: boolean }
  /**
   * Its credential was replaced: whatever was opened with the one before must end, also where it has no session (E5).
   */
  | { readonly type: 'node-revoked'; readonly node: NodeId; readonly isInDoubt?: boolean }
  | { readonly type: 'command-created'; readonly command: CommandId }
  | { readonly type: 'command-removed'; readonly command: CommandId }
  /** Found missing while its command is there: how it ended was not heard. Only on the bus of news. */
  | { readonly type: 'execution-removed'; readonly execution: ExecutionId; readonly command: CommandId }
  /** A request that has nodes. */
  | { readonly type: 'self-update-created'; readonly request: string }
  /**
   * One of its nodes has another state. `triggeredAfterMs`, where it was triggered: from its turn until its updater
   * took the signal.
   */
  | { readonly type: 'self-update-changed'; readonly request: string; readonly triggeredAfterMs?: number }
  /** Created by this admin, which owns it from the first instant. */
  /** `epoch`: under which this admin owns it; null: it is free, for an admin that has room for nodes. */
  | { readonly type: 'cluster-created'; readonly cluster: ClusterId; readonly epoch: number | null }
  /** At least one event was stored: event feeds read on from their cursor. */
  | { readonly type: 'events-stored' }
  /**
   * News of other admins may have been left out until now: whoever shows nodes, or commands, looks at the rows. Only on
   * the bus of news.
   */
  | { readonly type: 'missed'; readonly what: 'nodes' | 'commands' };
