/** What live feeds reach. */
import type { Bus } from '../../actors/bus.ts';
import type { Clock, Log, Reads, Tails } from '../../actors/ports.ts';
import type { ExecutionStatus } from '../../actors/resources.ts';
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';

/** An execution as its command's feed shows it: no output, no text. */
export interface ExecutionBrief {
  readonly id: string;
  readonly node_id: string;
  readonly cluster_name: string;
  readonly status: ExecutionStatus;
  readonly exit_code: number | null;
}

/** An execution that a live feed shows as not finished, and what the feed knows of it. */
export interface OpenExecutionShown {
  readonly execution: ExecutionId;
  readonly command: CommandId;
  readonly node: NodeId;
  readonly status: 'pending' | 'sent';
}

/** The reads that feeds need. */
export interface FeedReads extends Pick<Reads, 'list' | 'get' | 'eventsAfter'> {
  /** Every execution of a command in one snapshot, in creation order, at most `limit`. */
  executionsOf(command: CommandId, limit: number): Promise<readonly ExecutionBrief[]>;
}

/** What feeds are made of: notices of this admin, and rows for whatever notices leave out. */
export interface FeedPorts {
  readonly bus: Bus;
  readonly reads: FeedReads;
  readonly tails: Tails;
  readonly clock: Clock;
  readonly log: Log;
  /** CORE_NAME, for the envelopes of events. */
  readonly coreName: string;
}
