/** What live feeds reach. */
import type { Bus } from '../../actors/bus.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import type { Reads } from '../ports.ts';

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

/** Live output of running executions, asked of the agent itself. */
export interface Tails {
  /**
   * Streams output of an execution that runs on a node from byte `offset`. Calls `onOutput` in order; `end` is the last
   * call.
   * `onRenewed`: the node's session is another one, on which nothing comes of this stream: it has to be opened anew.
   * The returned function stops the stream. Null when the node has no live session here, or streams as many outputs as
   * one session may.
   */
  open(
    node: NodeId,
    execution: ExecutionId,
    offset: number,
    onOutput: (piece: { readonly offset: number; readonly text: string; readonly end: boolean }) => void,
    onRenewed: () => void,
  ): (() => void) | null;
}

/** Live output of executions on nodes of other admins. */
export interface TailsElsewhere {
  /**
   * Streams as `Tails` does, from the admin with this id. `onLost` is called once at most: nothing comes any more, and
   * the owner has to be looked for again. Null: that admin does not offer it.
   */
  open(
    admin: string,
    place: { readonly node: NodeId; readonly execution: ExecutionId; readonly offset: number },
    onOutput: Parameters<Tails['open']>[3],
    onLost: () => void,
  ): (() => void) | null;
}

/** One reader's place in the live output of a running execution, and what waits for it, which is bounded. */
export interface LiveOutput {
  /** Byte up to which the reader has been told. */
  readonly offset: number;
  /** Some more output, at most about TAIL_PIECE_BYTES; null when none waits. */
  take(): { readonly offset: number; readonly text: string } | null;
  /** Resolves at the next news of this execution or its output, and when the reader's signal aborts. */
  news(): Promise<void>;
  /** Everything that the agent streamed, to its end, has been taken. */
  isComplete(): boolean;
  /** No more live output is to be expected: it is over, or cannot be had. */
  isOver(): boolean;
  leave(): void;
}

/** What other admins may tail here. */
export interface TailSource {
  /** Whether this admin is the owner of the node. */
  isHere(node: NodeId): boolean;
  /** Joins whoever reads it here already. Null: it is over, unknown, or too many are tailed. */
  liveOutput(execution: ExecutionId, offset: number, signal: AbortSignal): Promise<LiveOutput | null>;
}

/** The reads that feeds need. */
export interface FeedReads extends Pick<
  Reads,
  'list' | 'get' | 'nodesAfter' | 'eventsAfter' | 'missedEvents' | 'beforeLatest'
> {
  /** Those of the commands that are stored. */
  existingCommands(commands: readonly CommandId[]): Promise<ReadonlySet<CommandId>>;
  /** Every execution of a command in one snapshot, in creation order, at most `limit`. */
  executionsOf(command: CommandId, limit: number): Promise<readonly ExecutionBrief[]>;
}

/** What feeds are made of: notices of all admins, and rows for whatever notices leave out. */
export interface FeedPorts {
  /** What this admin and the others commit. */
  readonly news: Pick<Bus, 'subscribe'>;
  /** Told when what is watched is something else than before. */
  readonly wantedChanged: () => void;
  /** Whether the bus says that events are stored also of those of others. */
  readonly areAllEventsTold: () => boolean;
  readonly reads: FeedReads;
  readonly tails: Tails;
  readonly clock: Clock;
  readonly log: Log;
  /** CORE_NAME, for the envelopes of events. */
  readonly coreName: string;
}
