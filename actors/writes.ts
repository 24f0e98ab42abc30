/**
 * Every row change that a step may ask for, in the words of the domain. Persistence knows the SQL and guards each by
 * the states it may follow.
 */
import type { AgentPorts } from '../transport/protocol/agent-description.ts';
import type { NodeFacts } from '../transport/protocol/facts.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId, SessionId } from '../transport/protocol/ids.ts';
import type { Labels } from '../transport/protocol/labels.ts';
import type { SshGrant } from '../transport/protocol/ssh.ts';
import type { CommandRecord, VpnPlace, SshPublicKeyRecord, SshUsernameRecord, Standing } from './records.ts';
import type { SshTried } from './ssh/login-attempts.ts';
import type { EventType } from './events.ts';
import type { SelfUpdateColdWrite, SelfUpdateHotWrite } from './self-update/writes.ts';
import type { DeliveryStatus } from './resources/webhook.ts';
import type { NodeStatus } from './resources/node.ts';
import type { Attempt } from './webhook/delivery.ts';

/** How an execution ended at the agent, as stored. `parts` output parts stored before are joined behind `output`. */
export interface Ending {
  readonly exitCode: number;
  readonly output: string | null;
  readonly parts: number;
  readonly truncated: boolean;
}

/**
 * Set-based, grouped with those of other actors into one transaction. A guard that matches no row refuses the change.
 */
export type HotWrite =
  | SelfUpdateHotWrite
  | {
      readonly kind: 'command-created';
      readonly command: CommandRecord;
      readonly executions: readonly { readonly id: ExecutionId; readonly node: NodeId; readonly clusterName: string }[];
    }
  | { readonly kind: 'execution-sent'; readonly execution: ExecutionId; readonly atMs: number }
  | {
      readonly kind: 'execution-finished';
      readonly execution: ExecutionId;
      readonly status: 'completed' | 'cancelled';
      readonly atMs: number;
      readonly sentAtMs: number | null;
      readonly ending: Ending;
    }
  | { readonly kind: 'execution-cancel-requested'; readonly execution: ExecutionId; readonly atMs: number }
  /** Every execution of the command that is not terminal; none is fine. */
  | { readonly kind: 'command-cancel-requested'; readonly command: CommandId; readonly atMs: number }
  | { readonly kind: 'output-part'; readonly execution: ExecutionId; readonly part: number; readonly text: string }
  /** A status, or only the reason for the same one. */
  | {
      readonly kind: 'node-status';
      readonly node: NodeId;
      readonly status: NodeStatus;
      readonly standing: Standing;
      readonly atMs: number;
    }
  /** All labels of a node, in place of those that it had. */
  | { readonly kind: 'node-labelled'; readonly node: NodeId; readonly labels: Labels; readonly atMs: number }
  /**
   * An SSH login was verified. With a grant it stands only while its username and its key are still there; without one
   * it always does.
   */
  | {
      readonly kind: 'ssh-verified';
      readonly node: NodeId;
      readonly session: SessionId;
      readonly attempt: number;
      readonly tried: SshTried;
      readonly sshUsername: string | null;
      readonly grant: SshGrant | null;
      readonly atMs: number;
    }
  /** Try `number` of a delivery that is pending, and what becomes of it. `nextAttemptAtMs` only with `pending`. */
  | {
      readonly kind: 'delivery-attempted';
      readonly delivery: string;
      readonly number: number;
      readonly attempt: Attempt;
      readonly status: DeliveryStatus;
      readonly nextAttemptAtMs: number | null;
      readonly atMs: number;
    }
  /** The first try of a delivery that has no row: it gets one, with what became of it. */
  | {
      readonly kind: 'delivery-made';
      readonly delivery: string;
      readonly webhook: string;
      readonly cursor: string;
      readonly eventId: string;
      readonly eventType: EventType;
      readonly subject: string;
      readonly attemptsMax: number;
      readonly storedAtMs: number;
      readonly attempt: Attempt;
      readonly status: DeliveryStatus;
      readonly nextAttemptAtMs: number | null;
      readonly atMs: number;
    }
  /** A delivery that finished after so many tries is pending again, for one more. */
  | { readonly kind: 'delivery-reopened'; readonly delivery: string; readonly attempts: number; readonly atMs: number };

/** One transaction each; a constraint that refuses becomes a Refusal. */
export type ColdWrite =
  | SelfUpdateColdWrite
  | {
      readonly kind: 'cluster-created';
      readonly id: ClusterId;
      readonly name: string;
      readonly ipv4Range: string;
      readonly ipv6Range: string;
      readonly nodeLimit: number | null;
      readonly atMs: number;
    }
  | {
      readonly kind: 'cluster-limited';
      readonly cluster: ClusterId;
      readonly nodeLimit: number | null;
      readonly atMs: number;
    }
  | { readonly kind: 'cluster-deleted'; readonly cluster: ClusterId }
  | {
      readonly kind: 'key-created';
      readonly id: string;
      readonly cluster: ClusterId;
      readonly name: string | null;
      readonly nonceHash: Uint8Array;
      readonly sealedKey: string;
      readonly expiredAtMs: number | null;
      readonly usesRemaining: number | null;
      readonly isPublic?: true;
      readonly labels: Labels;
      readonly atMs: number;
    }
  | {
      readonly kind: 'key-updated';
      readonly id: string;
      readonly name?: string | null;
      readonly expiredAtMs?: number | null;
      readonly usesRemaining?: number | null;
      readonly labels?: Labels;
      readonly atMs: number;
    }
  | { readonly kind: 'key-deleted'; readonly id: string }
  | NodeEnrolled
  | {
      readonly kind: 'node-registered';
      readonly node: NodeId;
      readonly version: string;
      readonly idType: 'persistent' | 'random';
      readonly ports: AgentPorts;
      readonly selfUpdateEnabled: boolean;
      readonly facts: NodeFacts | null;
      readonly atMs: number;
    }
  | {
      readonly kind: 'node-moved';
      readonly node: NodeId;
      readonly from: ClusterId;
      readonly to: ClusterId;
      readonly atMs: number;
    }
  /** Forgotten: nobody decided that it goes, so that its id is let in again. */
  | { readonly kind: 'node-deleted'; readonly node: NodeId; readonly isForgotten?: true; readonly atMs: number }
  | {
      readonly kind: 'recovery-key-set';
      readonly node: NodeId;
      readonly cluster: ClusterId;
      readonly keyHash: Uint8Array;
      readonly atMs: number;
    }
  | { readonly kind: 'recovery-key-cleared'; readonly node: NodeId }
  | {
      readonly kind: 'alias-created';
      readonly id: string;
      readonly node: NodeId;
      readonly cluster: ClusterId;
      readonly name: string;
      readonly atMs: number;
    }
  | { readonly kind: 'alias-deleted'; readonly id: string }
  | {
      readonly kind: 'ssh-username-created';
      readonly node: NodeId;
      readonly username: SshUsernameRecord;
      readonly atMs: number;
    }
  | { readonly kind: 'ssh-username-deleted'; readonly node: NodeId; readonly id: string }
  | {
      readonly kind: 'ssh-public-key-created';
      readonly node: NodeId;
      readonly sshUsername: string;
      readonly key: SshPublicKeyRecord;
      readonly atMs: number;
    }
  | { readonly kind: 'ssh-public-key-deleted'; readonly node: NodeId; readonly id: string }
  /**
   * The first time with an address, which the rows give. Refused when the key is another node's, or the VPN is
   * full.
   */
  | {
      readonly kind: 'vpn-member-set';
      readonly node: NodeId;
      readonly cluster: ClusterId;
      readonly place: VpnPlace;
      readonly atMs: number;
    }
  | {
      readonly kind: 'vpn-observed';
      readonly node: NodeId;
      readonly publicKey: string;
      readonly observed: string;
      readonly isStable: boolean | null;
      readonly atMs: number;
    }
  | { readonly kind: 'command-deleted'; readonly command: CommandId }
  | {
      readonly kind: 'webhook-created';
      readonly id: string;
      readonly url: string;
      readonly subscribedEvents: readonly EventType[];
      readonly sealedSecret: string;
      readonly sealedHeaders: string;
      readonly atMs: number;
    }
  | { readonly kind: 'webhook-deleted'; readonly id: string }
  | { readonly kind: 'nothing' };

/** The use of a key and the node are one transaction (E1). */
export interface NodeEnrolled {
  readonly kind: 'node-enrolled';
  readonly node: NodeId;
  readonly cluster: ClusterId;
  readonly enrollmentKey: string;
  /**
   * False for a retry after a lost answer: its use is spent already (E1). A recovery spends one, or a spent key could
   * let in any number.
   */
  readonly spendsUse: boolean;
  /**
   * What makes an existing node acceptable: `none` wants a new id, `retry` the machine that enrolled it (null: its
   * agent proves nothing, and it never connected), `recovery` a recovery key with this hash, consumed here (E2).
   */
  readonly existing:
    | { readonly type: 'none' }
    | { readonly type: 'retry'; readonly machineSecretHash: Uint8Array | null }
    | { readonly type: 'recovery'; readonly keyHash: Uint8Array };
  /** Of the secret that the machine made before its first try; null: its agent sends none. */
  readonly machineSecretHash: Uint8Array | null;
  readonly tokenHash: Uint8Array;
  readonly sealedProxyPassword: string;
  readonly version: string;
  readonly idType: 'persistent' | 'random';
  readonly ports: AgentPorts;
  readonly selfUpdateEnabled: boolean;
  readonly wireguardPublicKey: string | null;
  readonly aliases: readonly { readonly id: string; readonly name: string }[];
  readonly facts: NodeFacts | null;
  /** Of a new node; one that was there keeps its own. */
  readonly labels: Labels;
  readonly atMs: number;
}

/** Any write. `hot` ones are stored with those of other actors, `cold` ones in a transaction each. */
export type Write = HotWrite | ColdWrite;

const HOT: ReadonlySet<Write['kind']> = new Set<HotWrite['kind']>([
  'command-created',
  'execution-sent',
  'execution-finished',
  'execution-cancel-requested',
  'command-cancel-requested',
  'output-part',
  'node-status',
  'node-labelled',
  'ssh-verified',
  'delivery-attempted',
  'delivery-made',
  'delivery-reopened',
  'self-update-asked',
  'self-update-triggered',
  'self-update-failed',
  'self-update-ended',
]);

/** Whether a write travels in the group commit. */
export function isHot(write: Write): write is HotWrite {
  return HOT.has(write.kind);
}
