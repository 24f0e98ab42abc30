/**
 * What one message makes of an actor: the next state, changes to store, and effects to perform once they are stored.
 */
import type { CloseCode } from '../transport/protocol/close-codes.ts';
import type { AdminFrameBody } from '../transport/protocol/frames.ts';
import type { ClusterId, SessionId } from '../transport/protocol/ids.ts';
import type { DomainEvent } from './event-catalogue.ts';
import type { Address, Addressed, Message } from './messages.ts';
import type { Refusal, Result } from './refusal.ts';
import type { ExecutionEffect } from './node/effects.ts';
import type { SelfUpdateEffect } from './self-update/effects.ts';
import type { SshEffect } from './ssh/effects.ts';
import type { VpnEffect } from './vpn/effects.ts';
import type { WebhookEffect } from './webhook/effects.ts';
import type { Write } from './writes.ts';
import type { IdempotencyRecord } from './records.ts';
import type { ReplyTo } from './reply-to.ts';
import type { Notice } from './notice.ts';
import type { EndedSpan } from './tracer.ts';

/** One atomic change: a row write with the events that tell of it (V1). */
export interface Change {
  readonly write: Write;
  readonly events: readonly DomainEvent[];
  /** Told inside this admin once it is stored. */
  readonly notices: readonly Notice[];
  readonly idempotencyRecord?: IdempotencyRecord | undefined;
  /**
   * Performed once this change is stored, and never when it is refused: the effects of a step come to pass either way.
   */
  readonly onceStored?: readonly Effect[];
}

/** What happens after the commit, and never before, but for what is `isEarly`. */
export type Effect = RuntimeEffect | DomainEffect;

/** What only something outside of the actors can do: each domain says what it offers, and how it comes back. */
export type DomainEffect = ExecutionEffect | SelfUpdateEffect | SshEffect | WebhookEffect | VpnEffect;

/** What every kind of actor may ask of the runtime. */
export type RuntimeEffect =
  /** `cluster`: the one that who is told belongs to, where it is known. */
  | { readonly type: 'tell'; readonly told: Addressed; readonly cluster?: ClusterId }
  | { readonly type: 'answer'; readonly to: ReplyTo; readonly result: Result<unknown> }
  /**
   * `cluster`: whose the session is from now on, as its node is in this cluster. `isEarly`: it tells of nothing that
   * its step changes, so that no crash takes back what it says. It goes out before the commit, and may come a second
   * time where its message is decided again.
   */
  | {
      readonly type: 'send';
      readonly session: SessionId;
      readonly frame: AdminFrameBody;
      readonly cluster?: ClusterId;
      readonly isEarly?: true;
    }
  | { readonly type: 'hang-up'; readonly session: SessionId; readonly code: CloseCode; readonly reason: string }
  /**
   * The session ends, and its agent says hello again on the same connection where it can: its node moved to this
   * cluster.
   */
  | { readonly type: 'renew-session'; readonly session: SessionId; readonly cluster: ClusterId }
  /** Comes back to this actor after the delay. The same key replaces an earlier reminder. */
  | { readonly type: 'remind'; readonly key: string; readonly afterMs: number; readonly message: Message }
  /** A node of this cluster appeared or vanished: its actor is started from rows. */
  | { readonly type: 'revive'; readonly address: Address }
  /** Something that an operator should see happened: one line of the log, free of secrets and addresses. */
  | { readonly type: 'warn'; readonly message: string; readonly fields: Readonly<Record<string, unknown>> }
  /** A span is over, of a trace that somebody records. */
  | { readonly type: 'trace'; readonly span: EndedSpan }
  | { readonly type: 'stop' }
  /** This actor starts again from its rows, in which something changed; `live` is refreshed by them. */
  | { readonly type: 'restart'; readonly live: unknown };

export interface Step<S> {
  readonly state: S;
  readonly changes: readonly Change[];
  readonly effects: readonly Effect[];
}

const NONE: readonly never[] = [];

/** Nothing changed: the same reference, nothing written, nothing done. */
export function unchanged<S>(state: S): Step<S> {
  return { state, changes: NONE, effects: NONE };
}

/** A step from its parts. */
export function step<S>(state: S, changes: readonly Change[], effects: readonly Effect[] = NONE): Step<S> {
  return { state, changes, effects };
}

/** An answer to one who asked. */
export function answer(to: ReplyTo, result: Result<unknown>): Effect {
  return { type: 'answer', to, result };
}

/** A refusal as an answer. */
export function refuse(to: ReplyTo, refusal: Refusal): Effect {
  return { type: 'answer', to, result: { ok: false, refusal } };
}

/** A total switch ends here: a message type that is not handled does not compile. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify((value as { type?: unknown }).type ?? null)}`);
}
