/** What time does to rows: what the sweeper asks of them. */
import type { Notice } from '../actors/notice.ts';
import type { CommandId, ExecutionId, NodeId } from '../transport/protocol/ids.ts';

/** An execution that a sweep ended. */
export interface Ended {
  readonly execution: ExecutionId;
  readonly command: CommandId;
  readonly node: NodeId;
  readonly clusterName: string;
  readonly status: 'expired' | 'dropped';
}

/** One batch of them. */
export interface EndedBatch {
  readonly executions: readonly Ended[];
  /** There may be more. */
  readonly isFull: boolean;
}

/** What is kept no longer than it must be, in the order in which it is pruned. */
export type PrunedKind =
  | 'executions'
  | 'commands'
  | 'events'
  | 'idempotencyRecords'
  | 'outputParts'
  | 'deliveries'
  | 'orphanDeliveries'
  | 'releaseFiles'
  | 'publicKeys'
  | 'consoleSessions'
  | 'selfUpdateNodes'
  | 'recordings';

/** One batch of what was deleted. */
export interface Pruned {
  readonly count: number;
  /** There may be more. */
  readonly isFull: boolean;
  readonly notices: readonly Notice[];
}

/** What the sweeper asks of the rows. Implemented by persistence; each call is one bounded transaction. */
export interface SweepPort {
  expireDue(): Promise<EndedBatch>;
  dropOrphans(): Promise<EndedBatch>;
  /** Ends executions of one node that is gone. */
  dropOf(node: NodeId): Promise<EndedBatch>;
  readonly prunings: Readonly<Record<PrunedKind, () => Promise<Pruned>>>;
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
  /** Nodes that `markOwnerless` takes at once. As many found: there are more. */
  readonly batchRows: number;
}
