/** What time does to rows: what the sweeper asks of them. */
import type { CommandId, ExecutionId, NodeId } from '../transport/protocol/ids.ts';

/** An execution that a sweep ended. */
export interface Ended {
  readonly execution: ExecutionId;
  readonly command: CommandId;
  readonly node: NodeId;
  readonly clusterName: string;
  readonly status: 'expired' | 'dropped';
}

/** What one batch of everything that is kept no longer deleted. */
export interface Pruned {
  readonly executions: readonly ExecutionId[];
  readonly commands: readonly CommandId[];
  readonly events: number;
  readonly idempotencyRecords: number;
  readonly outputParts: number;
  readonly deliveries: number;
  readonly orphanDeliveries: number;
  readonly recordings: number;
  readonly publicKeys: number;
  /** Nodes of self-update requests. */
  readonly selfUpdateNodes: number;
  readonly releaseFiles: number;
  readonly consoleSessions: number;
}

/** What the sweeper asks of the rows. Implemented by persistence; each call is one bounded transaction. */
export interface SweepPort {
  expireDue(): Promise<readonly Ended[]>;
  dropOrphans(): Promise<readonly Ended[]>;
  /** Ends executions of one node that is gone. */
  dropOf(node: NodeId): Promise<readonly Ended[]>;
  prune(): Promise<Pruned>;
  storePresence(): Promise<void>;
  /** Open executions of our clusters that stand still although their node is there. */
  findForgotten(): Promise<{
    readonly pending: readonly NodeId[];
    readonly cancels: readonly { readonly node: NodeId; readonly execution: ExecutionId }[];
  }>;
  /** Makes nodes unreachable whose cluster nobody has owned for a while. */
  markOwnerless(): Promise<readonly NodeId[]>;
  /** Removes admins that are gone. Answers how many. */
  forgetAdmins(): Promise<number>;
  /** Removes names that no admin has had for long. Answers how many. */
  forgetNames(): Promise<number>;
  /** At most `limit` nodes of our clusters with random ids that were not seen for long; none where they are kept. */
  findGone(limit: number): Promise<readonly NodeId[]>;
  /** Follows a change of the encryption key. */
  compareKeys(): Promise<void>;
  /** Seals one batch anew after such a change. True: there is more. */
  sealAnew(): Promise<boolean>;
  /** Rows of one batch. As many found: there are more. */
  readonly batchRows: number;
}
