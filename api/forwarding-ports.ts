/**
 * What it takes to have another admin do what only an owner can: who owns what, and calls to whoever does. Implemented
 * by persistence and by the link between admins, wired in main.
 */
import type { Result } from '../actors/refusal.ts';
import type { ClusterId, NodeId } from '../transport/protocol/ids.ts';

/** Whose actors an operation needs: those of the owner of a cluster or node, or those of whoever holds the webhooks. */
export type OwnedBy =
  | { readonly kind: 'node'; readonly id: NodeId }
  | { readonly kind: 'cluster'; readonly id: ClusterId }
  | { readonly kind: 'webhooks' }
  | { readonly kind: 'admin'; readonly name: string };

/** Who owns something. */
export interface Owner {
  /** Id of an admin, which it keeps over restarts. */
  readonly admin: string;
  /** Under which it owns: another epoch is another owner, or the same one anew. */
  readonly epoch: number;
  /** It is this admin, and its lease is fresh. */
  readonly isHere: boolean;
}

/** Who owns what, now. */
export interface OwnersPort {
  /** Null: nobody does. Rejects with DatabaseUnavailable. */
  of(owned: OwnedBy): Promise<Owner | null>;
  /** Resolves when another epoch than this is known, or the signal aborts. */
  changed(owned: OwnedBy, epoch: number, signal: AbortSignal): Promise<void>;
}

/** An operation as one admin asks another for it. Its names are those on the wire (transport/admins/protocol/call.ts). */
export interface PeerCall {
  /** UUID, made once before all tries: a try that comes again joins the one under way, or gets its answer. */
  readonly call_id: string;
  /** By its name in the catalogue, or among the operations between admins. */
  readonly operation: string;
  /** What the client sent, as JSON; it is parsed again where it is done. */
  readonly input: unknown;
  readonly target: OwnedBy;
  /** Under which the owner was found. A hint: what counts is the row (O1). */
  readonly epoch: number;
  /** Whose key it was, and where the client came in. For the log: rights were judged where it came in. */
  readonly principal: string;
  readonly surface: string;
  readonly request_id: string;
  readonly traceparent: string | null;
  /** The client's key as it was hashed with the body. */
  readonly idempotency: { readonly scope: string; readonly key: string; readonly body_hash: string } | null;
  /** Time that the caller still has, in ms. Never an instant: clocks differ. */
  readonly remaining_ms: number;
  /** 1 for the first try. */
  readonly attempt: number;
}

/** What the called admin says. */
export type PeerAnswer =
  | { readonly type: 'answered'; readonly result: Result<unknown> }
  /** Nothing was done. Who it takes for the owner, and under which epoch, as far as it knows. */
  | { readonly type: 'not_owner'; readonly owner: string | null; readonly epoch: number | null }
  /** Nothing was done: too much is under way there. */
  | { readonly type: 'busy' }
  /** Nothing was done: an admin of another version. */
  | { readonly type: 'unknown_operation' }
  /** An earlier try of the same call was begun, and what came of it is forgotten. */
  | { readonly type: 'in_doubt' };

/** What came of a call. */
export type PeerOutcome =
  | PeerAnswer
  /** No answer. `sure`: nothing was done there; else it may have been. `why` completes "the admin …". */
  | { readonly type: 'lost'; readonly sure: boolean; readonly why: string }
  /** Nothing was sent: so many calls to that admin are open here already. */
  | { readonly type: 'overloaded' }
  /** Nothing was sent: that admin is of a version that takes no calls of this one. Trying again changes nothing. */
  | { readonly type: 'other_version' };

/** Calls to other admins. */
export interface PeerCalls {
  /**
   * Never rejects. Ends when `call.remaining_ms` is over, or the signal aborts: what was sent then may have been done.
   * `admin`: its id.
   */
  call(admin: string, call: PeerCall, signal: AbortSignal): Promise<PeerOutcome>;
}

/**
 * Does what another admin asks for, under its `call_id` once. `from`: that admin's id. A throw is a bug, logged and
 * answered as `internal_error`.
 */
export type PeerCallHandler = (call: PeerCall, from: string) => Promise<PeerAnswer>;
