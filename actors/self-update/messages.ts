/** Everything that can be said to a self-update request. */
import type { ReplyTo } from '../reply-to.ts';
import type { Idempotency } from '../node/messages.ts';
import type { Refusal } from '../refusal.ts';
import type { Write } from '../writes.ts';
import type { CountedSelfUpdate, SelfUpdateRecord } from './state.ts';
import type { UpdateTarget } from './writes.ts';

/** Requests in the imperative, facts in the past tense; a `replyTo` is answered exactly once. */
export type SelfUpdateMessage =
  /** The targets are those that the targeting reached in one snapshot (C2). */
  | {
      readonly type: 'create';
      readonly replyTo: ReplyTo;
      readonly request: SelfUpdateRecord;
      readonly targets: readonly UpdateTarget[];
      readonly idempotency: Idempotency | null;
    }
  /** Rows of its nodes may say something else. */
  | { readonly type: 'nodes-changed' }
  /** What they say. Null: the request is gone. */
  | { readonly type: 'nodes-counted'; readonly counted: CountedSelfUpdate | null }
  /** They could not be read, for a reason that is a bug. */
  | { readonly type: 'count-failed' }
  /** Its time has come. */
  | { readonly type: 'count-again' }
  | { readonly type: 'refused'; readonly write: Write; readonly refusal: Refusal };
