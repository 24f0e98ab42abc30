/**
 * What clients see of each resource: the shapes that reads return and answers carry. Field names are those of
 * contract.md, 2.
 */
import type { Diagnosis } from '../transport/protocol/diagnosis.ts';
import type { AgentPorts } from '../transport/protocol/frames.ts';
import type { MeshPath } from '../transport/protocol/mesh.ts';
import type { EventType } from './events.ts';
import type { Targeting } from './targeting.ts';

/** All statuses of a node, best first. Source: spec.md, node status. */
export const NODE_STATUSES = ['healthy', 'unhealthy', 'unreachable'] as const;
/** How a node is. Source: contract.md, 4. */
export type NodeStatus = (typeof NODE_STATUSES)[number];

/** All statuses of an execution; the first two are open, the others terminal. Source: spec.md, command execution. */
export const EXECUTION_STATUSES = ['pending', 'sent', 'completed', 'cancelled', 'expired', 'dropped'] as const;
/** How far an execution is. */
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** States that never change again. Source: invariants.md C6. */
export function isTerminal(status: ExecutionStatus): boolean {
  return status !== 'pending' && status !== 'sent';
}

/** An instant as ISO 8601, UTC, milliseconds, `Z`. */
export type Instant = string;

/** A cluster, as clients see it. */
export interface ClusterResource {
  readonly id: string;
  readonly name: string;
  readonly network_name: string;
  readonly vpn_domain: string;
  readonly ipv4_range: string;
  readonly ipv6_range: string;
  readonly node_limit: number | null;
  readonly node_count: number;
  /** On single reads only, at most 100. */
  readonly nodes?: readonly ClusterNode[];
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/** A node, as its cluster lists it. */
export interface ClusterNode {
  readonly id: string;
  readonly status: NodeStatus;
  readonly vpn_hostname: string;
  readonly enrollment_key_id: string | null;
}

/** An enrolment key, as clients see it. `uses_remaining` null means unlimited. */
export interface EnrollmentKeyResource {
  readonly id: string;
  readonly cluster_name: string;
  readonly name: string | null;
  /** The blob on create and single read; masked in lists. */
  readonly key: string;
  readonly expired_at: Instant | null;
  readonly uses_remaining: number | null;
  readonly last_used_at: Instant | null;
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/** A service that does not work, in the agent's own words: one sentence without addresses. */
export interface ServiceProblem {
  readonly name: string;
  readonly problem: string;
}

/** How well a node is connected to the mesh. */
export interface VpnEvidence {
  /**
   * Age of the last handshake with the gateway of its cluster, in ms; null when there was none, or there is no gateway.
   */
  readonly handshake_age_ms: number | null;
  /** How packets go to that gateway; without one, the best way to any other member. */
  readonly path: MeshPath;
}

/** What the status of a node rests on, as it was at `observed_at`: stored when the status or its reason changes. */
export interface StatusEvidence {
  readonly observed_at: Instant;
  /** Null: it had no live session. */
  readonly session: { readonly connected_at: Instant } | null;
  readonly last_report_at: Instant | null;
  /** Those that reported a problem. */
  readonly services: readonly ServiceProblem[];
  /** Null: it is in no mesh. */
  readonly vpn: VpnEvidence | null;
}

/** A node, as clients see it. Never with `api_token`, `proxy_password`, `vpn_host_id` or any VPN address (E4, R3). */
export interface NodeResource extends AgentPorts {
  readonly id: string;
  readonly cluster_name: string;
  readonly status: NodeStatus;
  /** When this status began. */
  readonly status_since: Instant;
  /** Why, in one sentence without secrets or addresses; null while it is healthy. */
  readonly status_reason: string | null;
  /** Null until it was connected for the first time. */
  readonly status_evidence: StatusEvidence | null;
  readonly version: string;
  readonly id_type: 'persistent' | 'random';
  readonly vpn_hostname: string;
  readonly aliases: readonly { readonly id: string; readonly name: string; readonly vpn_hostname: string }[];
  readonly self_update_enabled: boolean;
  readonly enrollment_key_id: string | null;
  readonly last_seen_at: Instant | null;
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/** An alias, as clients see it. */
export interface AliasResource {
  readonly id: string;
  readonly name: string;
  readonly node_id: string;
  readonly cluster_name: string;
  readonly vpn_hostname: string;
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/** How many executions of a command are in each state. `succeeded` and `failed` split `completed` by exit code. */
export interface CommandSummary {
  readonly total: number;
  readonly pending: number;
  readonly sent: number;
  readonly completed: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly dropped: number;
}

/** A command, as clients see it. `timeout` is in ms. */
export interface CommandResource {
  readonly id: string;
  readonly command_text: string;
  readonly targeting: Targeting;
  readonly timeout: number | null;
  readonly expired_at: Instant | null;
  readonly summary: CommandSummary;
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/**
 * An execution, as clients see it. `timeout` is in ms; `output` is null until it is over, and on a page of a list that
 * would grow too large with it (then `output_withheld` is true). `output_truncated`: what is stored is not all that
 * there was.
 */
export interface ExecutionResource {
  readonly id: string;
  readonly command_id: string;
  readonly node_id: string;
  readonly cluster_name: string;
  readonly command_text: string;
  readonly timeout: number | null;
  readonly status: ExecutionStatus;
  readonly exit_code: number | null;
  readonly output: string | null;
  readonly output_truncated: boolean;
  readonly output_withheld: boolean;
  readonly target_all: boolean;
  readonly expired_at: Instant | null;
  readonly sent_at: Instant | null;
  readonly completed_at: Instant | null;
  readonly cancelled_at: Instant | null;
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/** An SSH username, as clients see it: never with its password. */
export interface SshUsernameResource {
  readonly id: string;
  readonly username: string;
  /** Whether a password opens it. */
  readonly has_password: boolean;
  readonly node_id: string;
  /** On create and single read, by name; null in lists. */
  readonly public_keys: readonly SshPublicKeyResource[] | null;
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/** A key of an SSH username, as clients see it. */
export interface SshPublicKeyResource {
  readonly id: string;
  /** One line as OpenSSH writes it. */
  readonly public_key: string;
  /** As `ssh-keygen -l` shows it. */
  readonly fingerprint: string;
  readonly key_name: string;
  readonly ssh_username_id: string;
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/** A recording of an SSH session, as clients see it. It outlives its node and its user. */
export interface SshRecordingResource {
  readonly id: string;
  readonly node_id: string;
  /** The cluster that the node was in when the recording arrived. */
  readonly cluster_name: string;
  readonly ssh_username_id: string;
  readonly username: string;
  /** The beginning of what was run; null for a shell. */
  readonly command: string | null;
  /** By the clock of the machine. */
  readonly started_at: Instant;
  readonly duration_ms: number;
  /** Size of the terminal at the beginning, in characters. */
  readonly width: number;
  readonly height: number;
  /** The session went on, and what came then was left out. */
  readonly truncated: boolean;
  /** Of `cast`. */
  readonly size_bytes: number;
  /** The recording as asciicast, version 2; null in lists. */
  readonly cast: string | null;
  readonly inserted_at: Instant;
}

/** A webhook, as clients see it: never with its secret or headers. */
export interface WebhookResource {
  readonly id: string;
  readonly url: string;
  readonly subscribed_events: readonly EventType[];
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/** All statuses of a delivery; the first is open. `dropped`: every try failed, or the receiver refused it. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'dropped'] as const;
/** How far a delivery is. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** A delivery, as clients see it. The `last_` fields are those of its latest try, null before the first. */
export interface WebhookDeliveryResource {
  readonly id: string;
  readonly webhook_id: string;
  readonly event_id: string;
  readonly event_type: EventType;
  readonly status: DeliveryStatus;
  readonly attempt_count: number;
  readonly last_status_code: number | null;
  readonly last_error: string | null;
  /** In ms. */
  readonly last_duration_ms: number | null;
  readonly last_attempted_at: Instant | null;
  /** When it is tried again at the earliest; null unless it waits for that. */
  readonly next_attempt_at: Instant | null;
  /** On single reads only, oldest first. */
  readonly attempts?: readonly WebhookAttemptResource[];
  readonly inserted_at: Instant;
  readonly updated_at: Instant;
}

/** One try of a delivery. `response_body` is its beginning, at most 4 KiB; null when there was no answer. */
export interface WebhookAttemptResource {
  readonly number: number;
  readonly attempted_at: Instant;
  readonly duration_ms: number;
  readonly status_code: number | null;
  readonly error: string | null;
  readonly response_body: string | null;
}

/** An admin, as clients see it. `edge_node_capacity` is `max_wireguard_peers` without its peers. */
export interface AdminResource {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly role: 'admin';
  readonly admin_cluster_name: string;
  readonly erlang_node_name: string;
  readonly vpn_host_id: string | null;
  readonly vpn_hostname: string | null;
  readonly max_wireguard_peers: number;
  readonly admin_peer_count: number;
  readonly edge_node_capacity: number;
  readonly last_computed_at: Instant;
}

/**
 * An admin as one of many. `vpn_host_id` is its id; it has no name in the networks of clusters. Source: spec.md,
 * AdminTopologyEntry.
 */
export type AdminTopologyEntry = Pick<
  AdminResource,
  'name' | 'max_wireguard_peers' | 'admin_peer_count' | 'edge_node_capacity' | 'erlang_node_name' | 'vpn_hostname'
> & { readonly vpn_host_id: string };

/** The admins of one group that are alive, and the clusters that they own: name of the cluster to name of the admin. */
export interface MyAdminClusterResource {
  readonly name: string;
  readonly degraded: boolean;
  readonly total_admins: number;
  readonly total_edge_capacity: number;
  readonly total_nodes: number;
  readonly topology: readonly AdminTopologyEntry[];
  readonly edge_clusters: Readonly<Record<string, string>>;
}

/** A group of admins. Its ranges are null while admins have no network of their own. */
export interface AdminClusterResource {
  readonly name: string;
  readonly admin_count: number;
  readonly ipv4_range: string | null;
  readonly ipv6_range: string | null;
  readonly admins: readonly {
    readonly name: string;
    readonly vpn_host_id: string;
    readonly vpn_hostname: string | null;
    readonly status: 'healthy' | 'unreachable' | 'gone';
    readonly last_checked_in: Instant;
  }[];
}

/** Name of a cluster to the host names of its nodes. */
export type ClusterHostNames = Readonly<Record<string, readonly string[]>>;

/**
 * A diagnosis as clients get it. `is_live`: the agent's own checks were made just now; else `collected_at` says when.
 */
export interface NodeReport extends Diagnosis {
  readonly is_live: boolean;
}

/** Unix ms to an instant. */
export function instant(ms: number): Instant;
export function instant(ms: number | null): Instant | null;
export function instant(ms: number | null): Instant | null {
  if (ms === null) return null;
  const known = recent.get(ms);
  if (known !== undefined) return known;
  if (recent.size >= RECENT_INSTANTS_MAX) recent.clear();
  const text = new Date(ms).toISOString();
  recent.set(ms, text);
  return text;
}

/**
 * A fan-out words the same few instants ten thousand times. Pure all the same: the text of an instant never changes.
 */
const recent = new Map<number, Instant>();
const RECENT_INSTANTS_MAX = 64;
