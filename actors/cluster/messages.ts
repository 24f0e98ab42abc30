/** Everything that can be said to a cluster. */
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import type { Labels } from '../../transport/protocol/labels.ts';
import type { VpnRevision } from '../../transport/protocol/vpn.ts';
import type { EnrollRequest } from '../../transport/protocol/enrollment.ts';
import type { ReplyTo } from '../reply-to.ts';
import type { Idempotency } from '../node/messages.ts';
import type { EnrolledBefore, EnrollmentKeyRecord, VpnReading } from '../records.ts';
import type { Refusal } from '../refusal.ts';
import type { Write } from '../writes.ts';

/**
 * Secrets of a new node, made before the ask: the clear text is answered once, only hash and sealed form are stored.
 */
export interface NodeCredentials {
  readonly apiToken: string;
  readonly tokenHash: Uint8Array;
  readonly proxyPassword: string;
  readonly sealedProxyPassword: string;
}

/** Requests in the imperative, facts in the past tense. Times are Unix ms; an `replyTo` is answered exactly once. */
export type ClusterMessage =
  | {
      readonly type: 'create';
      readonly replyTo: ReplyTo;
      readonly id: ClusterId;
      readonly name: string;
      readonly ipv4Range: string;
      readonly ipv6Range: string;
      readonly nodeLimit: number | null;
      readonly idempotency: Idempotency | null;
    }
  | { readonly type: 'limit'; readonly replyTo: ReplyTo; readonly nodeLimit: number | null }
  | { readonly type: 'delete'; readonly replyTo: ReplyTo }
  | {
      readonly type: 'create-key';
      readonly replyTo: ReplyTo;
      readonly id: string;
      readonly name: string | null;
      readonly key: string;
      readonly nonceHash: Uint8Array;
      readonly sealedKey: string;
      readonly expiredAtMs: number | null;
      readonly usesRemaining: number | null;
      readonly isPublic?: true;
      readonly labels: Labels;
      readonly idempotency: Idempotency | null;
    }
  | {
      readonly type: 'update-key';
      readonly replyTo: ReplyTo;
      readonly key: EnrollmentKeyRecord;
      readonly blob: string;
      readonly name?: string | null | undefined;
      readonly expiredAtMs?: number | null | undefined;
      readonly usesRemaining?: number | null | undefined;
      readonly labels?: Labels | undefined;
    }
  | { readonly type: 'delete-key'; readonly replyTo: ReplyTo; readonly id: string }
  /**
   * `key` is null when no key has this nonce; `existing` is the node that already has this id, and whether it ever
   * connected.
   */
  | {
      readonly type: 'enroll';
      readonly replyTo: ReplyTo;
      readonly request: EnrollRequest;
      readonly key: EnrollmentKeyRecord;
      readonly existing: EnrolledBefore | null;
      readonly recoveryKeyHash: Uint8Array | null;
      readonly machineSecretHash: Uint8Array | null;
      readonly credentials: NodeCredentials;
      readonly aliasIds: readonly string[];
    }
  /** A node left (deleted or moved): the count was lowered in that transaction. */
  | { readonly type: 'count-changed'; readonly by: number }
  /**
   * The rows of its VPN, read under this epoch of the ownership. Readings are numbered over all clusters of an
   * admin, ever higher.
   */
  | { readonly type: 'vpn-read'; readonly epoch: number; readonly number: number; readonly reading: VpnReading }
  /** A member is connected and holds this state of the VPN; null: none. */
  | { readonly type: 'vpn-wanted'; readonly node: NodeId; readonly revision: VpnRevision | null }
  /** A member wants a direct path to the peer with this key. */
  | { readonly type: 'direct-wanted'; readonly node: NodeId; readonly publicKey: string }
  | { readonly type: 'refused'; readonly write: Write; readonly refusal: Refusal };

/** The message of this type. */
export type MessageOf<T extends ClusterMessage['type']> = Extract<ClusterMessage, { type: T }>;
