/** Rows as actors hold them. Times are Unix ms. */
import type { AgentPorts } from '../transport/protocol/agent-description.ts';
import type { NodeFacts } from '../transport/protocol/facts.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../transport/protocol/ids.ts';
import type { Labels } from '../transport/protocol/labels.ts';
import type { TraceContext } from '../transport/protocol/trace-context.ts';
import type { EventType } from './events.ts';
import type { ExecutionStatus } from './resources/command.ts';
import type { NodeStatus, StatusEvidence } from './resources/node.ts';
import type { Targeting } from './targeting-schema.ts';

/**
 * A cluster's row. `nodeCount` is kept in the transaction of every change of membership; `nodeLimit` null means none.
 */
export interface ClusterRecord {
  readonly id: ClusterId;
  readonly name: string;
  readonly ipv4Range: string;
  readonly ipv6Range: string;
  readonly nodeLimit: number | null;
  readonly nodeCount: number;
  readonly insertedAtMs: number;
  readonly updatedAtMs: number;
}

/** A node whose id somebody enrols with. `machineSecretHash` null: its agent sent none. */
export interface EnrolledBefore {
  readonly node: NodeRecord;
  readonly everConnected: boolean;
  readonly machineSecretHash: Uint8Array | null;
  /** Null: none is set, or it was used. */
  readonly recoveryKeyHash: Uint8Array | null;
  /** Names, in their order. */
  readonly aliases: readonly string[];
}

/** An enrolment key's row, without the key itself. `usesRemaining` null means unlimited, 0 means spent. */
export interface EnrollmentKeyRecord {
  readonly id: string;
  readonly cluster: ClusterId;
  readonly clusterName: string;
  readonly name: string | null;
  readonly expiredAtMs: number | null;
  readonly usesRemaining: number | null;
  readonly lastUsedAtMs: number | null;
  /** Given to every node that it lets in. */
  readonly labels: Labels;
  readonly insertedAtMs: number;
  readonly updatedAtMs: number;
}

/** An alias of a node, as its node holds it. */
export interface AliasRecord {
  readonly id: string;
  readonly name: string;
}

/** Since when a node has its status, why, and when it changed lately. */
export interface Standing {
  readonly sinceMs: number;
  /** One sentence; null while it is healthy. */
  readonly reason: string | null;
  /** Null until it was connected for the first time. */
  readonly evidence: StatusEvidence | null;
  /** When the status last changed, oldest first: as many as damping asks for. */
  readonly changesMs: readonly number[];
}

/** What a node is in the VPN, apart from its addresses there. */
export interface VpnPlace {
  readonly publicKey: string;
  /** Null until its agent was connected. */
  readonly listenPort: number | null;
  /** Of its own interfaces, as it says itself. */
  readonly endpoints: readonly string[];
  /**
   * As its WireGuard socket is seen from outside, and whether that is the same from everywhere; null: not seen yet, not
   * known.
   */
  readonly observed: string | null;
  readonly isStable: boolean | null;
  readonly relayRegion: number | null;
}

/** A member of a VPN as the others need to know it. */
export interface VpnMemberRecord extends VpnPlace {
  readonly node: NodeId;
  readonly ipv4: string;
  readonly ipv6: string;
  readonly aliases: readonly string[];
}

/** The gateway of a cluster: the member that is the admin which owns it. */
export interface VpnGatewayRecord extends Omit<VpnPlace, 'observed' | 'isStable'> {
  readonly listenPort: number;
  readonly ipv4: string;
  readonly ipv6: string;
}

/** The members of one cluster's VPN at one instant. */
export interface VpnReading {
  readonly cluster: ClusterId;
  readonly members: readonly VpnMemberRecord[];
  /** Null: the owner has not joined. */
  readonly gateway: VpnGatewayRecord | null;
}

/**
 * A node's row. `lastSeenAtMs` is null until its first session, and is stored in batches: a live session knows better.
 */
export interface NodeRecord {
  readonly id: NodeId;
  readonly cluster: ClusterId;
  readonly clusterName: string;
  readonly status: NodeStatus;
  readonly standing: Standing;
  readonly version: string;
  readonly idType: 'persistent' | 'random';
  readonly ports: AgentPorts;
  readonly selfUpdateEnabled: boolean;
  readonly enrollmentKeyId: string | null;
  /** Null: its agent says nothing of its machine. */
  readonly facts: NodeFacts | null;
  readonly labels: Labels;
  readonly lastSeenAtMs: number | null;
  readonly insertedAtMs: number;
  readonly updatedAtMs: number;
}

/** A command's row: what runs, where it was aimed at, and until when it may start. It never changes. */
export interface CommandRecord {
  readonly id: CommandId;
  readonly text: string;
  readonly targeting: Targeting;
  readonly timeoutMs: number | null;
  readonly expiredAtMs: number | null;
  readonly insertedAtMs: number;
  /** The request that created it, as a place in a trace. Absent when nobody traces it. */
  readonly trace?: TraceContext;
}

/**
 * What of a command its executions need. Whom it names is left out: that may be 1 MiB, and nodes hold many commands.
 */
export interface OpenCommand extends Omit<CommandRecord, 'targeting'> {
  /** Whether its targeting is of type all. */
  readonly targetAll: boolean;
}

/** An execution that is not terminal, with what its node needs to deliver it and to describe it in events. */
export interface OpenExecution {
  readonly id: ExecutionId;
  readonly command: OpenCommand;
  readonly node: NodeId;
  readonly clusterName: string;
  readonly status: Extract<ExecutionStatus, 'pending' | 'sent'>;
  readonly sentAtMs: number | null;
  /** Set when someone asked to cancel it and the agent has not confirmed yet. */
  readonly cancelRequestedAtMs: number | null;
  readonly insertedAtMs: number;
  readonly updatedAtMs: number;
}

/** An SSH username to be stored. `passwordHash` is an Argon2id hash, null when no password opens it. */
export interface SshUsernameRecord {
  readonly id: string;
  readonly username: string;
  readonly passwordHash: string | null;
  readonly keys: readonly SshPublicKeyRecord[];
}

/** A public key to be stored. `line` is one line as OpenSSH writes it, `fingerprint` that of its blob. */
export interface SshPublicKeyRecord {
  readonly id: string;
  readonly keyName: string;
  readonly line: string;
  readonly fingerprint: string;
}

/**
 * A webhook's row. It never changes. Secret and headers are sealed under the names in sealed-columns.ts; headers are a
 * JSON object.
 */
export interface WebhookRecord {
  readonly id: string;
  readonly url: string;
  readonly subscribedEvents: readonly EventType[];
  readonly sealedSecret: string;
  readonly sealedHeaders: string;
  readonly insertedAtMs: number;
}

/** The answer to a create, kept for 24 h under the client's Idempotency-Key, in the transaction of the create. */
export interface IdempotencyRecord {
  readonly scope: string;
  readonly key: string;
  readonly bodyHash: string;
  readonly answer: unknown;
}
