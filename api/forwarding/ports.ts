/**
 * What it takes to have another admin do what only an owner can: who owns what, and calls to whoever does. Implemented
 * by persistence and by the link between admins, wired in main.
 */
import type { Result } from '../../actors/refusal.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';

/** Whose actors an operation needs: those of the owner of a cluster or node, or those of whoever holds the webhooks. */
export type OwnedBy =
  | { readonly kind: 'node'; readonly id: NodeId }
  | { readonly kind: 'cluster'; readonly id: ClusterId }
  /** `orHere`: where nobody holds them, any admin does it. */
  | { readonly kind: 'webhooks'; readonly orHere?: true }
  | { readonly kind: 'admin'; readonly name: string };

/**
 * Who owns something now. `epoch`: another one is another owner, or the same one anew. `nobody`: its owner is gone, or
 * begins; `no_room`: no admin can take it; `missing`: there is no such thing.
 */
export type Owner =
  | { readonly type: 'here'; readonly epoch: number }
  | { readonly type: 'elsewhere'; readonly admin: string; readonly epoch: number }
  | { readonly type: 'nobody' }
  | { readonly type: 'no_room' }
  | { readonly type: 'missing' };

/** Who owns what, now. */
export interface OwnersPort {
  /** Whether another admin is alive, as far as is known. One alone asks nobody. */
  hasPeers(): boolean;
  /** Rejects with DatabaseUnavailable. What is owned here, under a lease that did not run out, costs no statement. */
  of(owned: OwnedBy): Promise<Owner>;
  /**
   * Who it was a moment ago, without a statement; null: that has to be read. Good for a first try: whoever is asked
   * looks whether it is the owner.
   */
  lately(owned: OwnedBy): Owner | null;
  /**
   * Resolves when it is known to be owned under another epoch than this (null: under any), or not to be there, or the
   * signal aborts. Never rejects.
   */
  changed(owned: OwnedBy, epoch: number | null, signal: AbortSignal): Promise<void>;
}

/** What this admin holds, as it knows without the database. */
export interface HeldHere {
  hasPeers(): boolean;
  /** Null: it does not live here. */
  clusterOfNode(node: NodeId): ClusterId | null;
  /** Null: not held; also one whose lease has run out by the clock of this machine, where a fresh one is asked for. */
  epochOf(cluster: ClusterId, isFresh: boolean): number | null;
  isOrphan(cluster: ClusterId): boolean;
  deliversWebhooks(): boolean;
}

/**
 * An operation as one admin asks another for it. Its names are those on the wire (transport/admins/protocol/call.ts).
 */
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
  /** 1 until an answer was lost: from 2 on it may have been done before. */
  readonly attempt: number;
}

/** What the called admin says. */
export type PeerAnswer =
  | { readonly type: 'answered'; readonly result: Result<unknown> }
  /** Nothing was done. Who it takes for the owner, and under which epoch, as far as it knows. */
  | { readonly type: 'not_owner'; readonly owner: string | null; readonly epoch: number | null }
  /** Nothing was done: too much is under way there, or too little time is left. */
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
