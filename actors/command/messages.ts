/** Everything that can be said to a command. */
import type { ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import type { ReplyTo } from '../reply-to.ts';
import type { Idempotency } from '../node/messages.ts';
import type { CommandRecord } from '../records.ts';
import type { Refusal } from '../refusal.ts';
import type { ExecutionStatus } from '../resources/command.ts';
import type { Target } from '../targeting-schema.ts';
import type { Write } from '../writes.ts';

/** A stored change of one execution of this command. */
export interface ExecutionChange {
  readonly execution: ExecutionId;
  readonly node: NodeId;
  readonly status: ExecutionStatus;
  readonly exitCode: number | null;
}

/** Requests in the imperative, facts in the past tense. An `replyTo` is answered exactly once. */
export type CommandMessage =
  /** The targets are the filter evaluated in one snapshot (C2); `executionIds` has one id a target. */
  | {
      readonly type: 'create';
      readonly replyTo: ReplyTo;
      readonly command: CommandRecord;
      readonly targets: readonly Target[];
      readonly executionIds: readonly ExecutionId[];
      readonly idempotency: Idempotency | null;
    }
  | { readonly type: 'executions-changed'; readonly changes: readonly ExecutionChange[] }
  /** Their rows are gone, and how they ended was not heard. */
  | { readonly type: 'executions-removed'; readonly executions: readonly ExecutionId[] }
  /** Nothing was heard of it for COMMAND_REST_AFTER_MS. */
  | { readonly type: 'rest' }
  /** Answered with the summary as it is then. */
  | { readonly type: 'cancel'; readonly replyTo: ReplyTo }
  | { readonly type: 'delete'; readonly replyTo: ReplyTo }
  | { readonly type: 'refused'; readonly write: Write; readonly refusal: Refusal };
