/**
 * What surfaces need of the rest of the admin. Implemented by persistence, transport and supervisors, wired in main.
 * What only live feeds or only health checks need stands with them.
 */
import type { Ask } from '../actors/messages.ts';
import type { DomainEvent } from '../actors/event-catalogue.ts';
import type { EventsRead, EventType, StoredEvent } from '../actors/events.ts';
import type { Filter, ListName, ListQuery } from '../actors/filters.ts';
import type { ClusterResource } from '../actors/resources/cluster.ts';
import type { CommandResource, ExecutionResource } from '../actors/resources/command.ts';
import type { GroupResource } from '../actors/resources/group.ts';
import type { EnrollmentKeyResource } from '../actors/resources/enrollment-key.ts';
import type { AliasResource, NodeResource } from '../actors/resources/node.ts';
import type { SelfUpdateRequestResource, SelfUpdateResultResource } from '../actors/resources/self-update.ts';
import type { SshPublicKeyResource, SshRecordingResource, SshUsernameResource } from '../actors/resources/ssh.ts';
import type { WebhookDeliveryResource, WebhookResource } from '../actors/resources/webhook.ts';
import type { Clock } from '../actors/ports.ts';
import type { Idempotency } from '../actors/node/messages.ts';
import type { EnrolledBefore, EnrollmentKeyRecord } from '../actors/records.ts';
import type { Result } from '../actors/refusal.ts';
import type { Standing } from '../actors/standing.ts';
import type { PlainTargeting, Target, Targeting } from '../actors/targeting-schema.ts';
import type { DeliveryRef } from '../actors/webhook/delivery.ts';
import type { ClusterId, ExecutionId, NodeId } from '../transport/protocol/ids.ts';
import type { RecordingDescription } from '../transport/protocol/recording.ts';
import type { AdminDirectory, AdminLink, AdminTopology, PeerAdmins } from './admin-ports.ts';
import type { ConsoleSessions } from './console/ports.ts';
import type { AdminMetrics } from './metrics/admin-metrics.ts';
import type { NodeDiagnoses, NodeHistories, NodeMetrics, NodeSshSessions } from './node-ports.ts';
import type { OverviewPorts } from './overview-ports.ts';
import type { Releases } from './release-ports.ts';
import type { SubsystemCheck } from './views/health.ts';

/** What handlers may use. Everything outside comes from here. */
export interface OperationPorts extends OverviewPorts {
  readonly ask: Ask;
  readonly reads: Reads;
  readonly records: Records;
  readonly groups: Groups;
  readonly vault: Vault;
  readonly passwords: Passwords;
  readonly admin: AdminDirectory;
  readonly adminTopology: AdminTopology;
  readonly peerAdmins: PeerAdmins;
  /** How this admin gets to another one that is alive, by its id; null: it knows of none. */
  adminLink(id: string): AdminLink | null;
  readonly nodeMetrics: NodeMetrics;
  readonly nodeHistories: NodeHistories;
  readonly nodeSshSessions: NodeSshSessions;
  readonly nodeDiagnoses: NodeDiagnoses;
  readonly discovery: Discovery;
  readonly consoleSessions: ConsoleSessions;
  readonly adminMetrics: AdminMetrics;
  readonly releases: Releases;
  /** Where the proxies of this admin listen; null: nowhere. */
  proxyPorts(): { readonly http: number; readonly socks5: number } | null;
  readonly clock: Clock;
  /** UUID v7: sortable by creation. */
  newId(): string;
  /** Runs the subsystem checks of /healthz, in parallel, 5 s each. */
  checkHealth(): Promise<readonly SubsystemCheck[]>;
  /** The same for all admins together: /health/cluster. */
  checkClusterHealth(): Promise<readonly SubsystemCheck[]>;
  /** What clients' URLs must pass. */
  readonly urlGuard: UrlGuard;
  /** Whether webhooks are delivered from here, and not by another admin. */
  deliversWebhooks(): boolean;
  /** Whether the admins have room for all clusters. */
  standing(): Standing;
  /** Makes room for one more node in a cluster of this admin that is full. False: it cannot. Never rejects. */
  makeRoom(cluster: ClusterId): Promise<boolean>;
  readonly settings: OperationSettings;
}

/** The settings that operations depend on. */
export interface OperationSettings {
  /** In order. To be read anew each time: where the settings name none, the first is known once the admin listens. */
  readonly adminUrls: readonly string[];
  /** METRICS_BASE_URL; null or left out: the first of adminUrls. */
  readonly metricsBaseUrl?: string | null;
  readonly vpnDomain: string;
  readonly coreName: string;
  readonly defaultClusterName: string | null;
  readonly publicEnrollmentKeyEnabled: boolean;
}

/** One page. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly totalCount: number;
}

/** One page of rows by their ids. `next`: behind which id the next page begins; null when this is the last. */
export interface KeyedPage<T> {
  readonly rows: readonly T[];
  readonly next: string | null;
}

/** Events of a node. Null `types`: all. No more than `countedMax`, and one beyond the page, are counted; null: all. */
export interface NodeEventsQuery {
  readonly node: NodeId;
  readonly types: readonly EventType[] | null;
  readonly page: number;
  readonly pageSize: number;
  readonly isOldestFirst: boolean;
  readonly countedMax: number | null;
}

/** Resource rows of every list. */
export interface ListRows {
  clusters: ClusterResource;
  enrollment_keys: EnrollmentKeyResource;
  nodes: NodeResource;
  groups: GroupResource;
  aliases: AliasResource;
  commands: CommandResource;
  command_executions: ExecutionResource;
  self_update_requests: SelfUpdateRequestResource;
  self_update_results: SelfUpdateResultResource;
  ssh_usernames: SshUsernameResource;
  ssh_public_keys: SshPublicKeyResource;
  ssh_recordings: SshRecordingResource;
  webhooks: WebhookResource;
  webhook_deliveries: WebhookDeliveryResource;
}

/** The read side: SQL over rows. Every call rejects with DatabaseUnavailable within 5 s at the latest (L3). */
export interface Reads {
  list<N extends ListName>(name: N, query: ListQuery): Promise<Page<ListRows[N]>>;
  /** By id; clusters and groups by name. Null when there is none. Single reads carry what lists leave out. */
  get<N extends ListName>(name: N, key: string): Promise<ListRows[N] | null>;
  clusterId(name: string): Promise<ClusterId | null>;
  /**
   * A free pair of ranges for a new cluster; null when the configured ranges are full. Another create may take it
   * first: then the create is refused with `conflict` and the caller asks again, a few times.
   */
  freeRanges(): Promise<{ readonly ipv4Range: string; readonly ipv6Range: string } | null>;
  /**
   * Which nodes a targeting reaches, in one snapshot. Refuses a targeting that names a cluster or node that does not
   * exist with no error: it simply matches nothing. `group` is what the group that it names means:
   * api/targeted-nodes.ts. `by` narrows what is reached.
   */
  targets(targeting: Targeting, group?: PlainTargeting | null, by?: PlainTargeting | null): Promise<readonly Target[]>;
  /** What a saved group means; null when there is none of this name. */
  groupTargeting(name: string): Promise<PlainTargeting | null>;
  executionNode(
    id: ExecutionId,
  ): Promise<{ readonly node: NodeId; readonly status: ExecutionResource['status'] } | null>;
  aliasNode(id: string): Promise<NodeId | null>;
  /** This node, where it has a recovery key. */
  recoveryKeyNode(node: NodeId): Promise<NodeId | null>;
  /** The node that an SSH username opens. */
  sshUsernameNode(id: string): Promise<NodeId | null>;
  /** The node that an SSH public key opens. */
  sshPublicKeyNode(id: string): Promise<NodeId | null>;
  /** By the hash of the key's nonce. */
  enrollmentKeyByNonce(nonceHash: Uint8Array): Promise<EnrollmentKeyRecord | null>;
  enrollmentKey(id: string): Promise<EnrollmentKeyRecord | null>;
  nodeForEnrollment(id: NodeId): Promise<EnrolledBefore | null>;
  /** Which node a session token belongs to, by SHA-256; null when none. Look-ups that wait together are one query. */
  nodeByToken(tokenHash: Uint8Array): Promise<{ readonly node: NodeId; readonly cluster: ClusterId } | null>;
  /**
   * Whether a token, by SHA-256, was that of a node which somebody deleted. Look-ups that wait together are one query.
   */
  deletedByToken(tokenHash: Uint8Array): Promise<boolean>;
  /** A delivery as its actor would hold it, the webhook that it goes to, and whether its event is still there. */
  delivery(
    id: string,
  ): Promise<{ readonly webhook: string; readonly ref: DeliveryRef; readonly hasEvent: boolean } | null>;
  /** What a delivery sends; null when there is none, or its event is gone. */
  deliveredEvent(id: string): Promise<StoredEvent | null>;
  idempotencyRecord(
    scope: string,
    key: string,
  ): Promise<{ readonly bodyHash: string; readonly answer: unknown } | null>;
  /** The nodes that match, by their ids: at most `limit` behind `after`, or from the first one on. */
  nodesAfter(filters: readonly Filter[], after: string | null, limit: number): Promise<KeyedPage<NodeResource>>;
  /** Events after a cursor in commit order, at most `limit` and about 1 MiB; null: none, and the cursor of the end. */
  eventsAfter(cursor: string | null, limit: number): Promise<EventsRead>;
  /** The same for those who are behind: of these there may be any number, so they take turns with lists. */
  missedEvents(cursor: string, limit: number): Promise<EventsRead>;
  /**
   * The cursor before the latest `count` events of these types, of all where there are none. Of a type that is rare the
   * log is looked through so far only (LATEST_LOOKED_AT_MAX).
   */
  beforeLatest(types: readonly EventType[], count: number): Promise<string>;
  /** Stored events of one node, also of one that is deleted. Without logins as long as no index finds them. */
  nodeEvents(query: NodeEventsQuery): Promise<Result<Page<StoredEvent>>>;
  /** Answers when the database does, for health. */
  ping(): Promise<void>;
}

/** Clears live state no actor holds. */
export interface Records {
  /** 409 while it is not terminal. */
  deleteExecution(id: ExecutionId): Promise<Result<null>>;
  /** 409 while it is not completed. */
  deleteSelfUpdate(id: string): Promise<Result<null>>;
  /** Stores an event that no row change goes with. */
  publish(event: DomainEvent): Promise<StoredEvent>;
  /** Stores a recording once, however often it comes. `content` is gzipped, and unpacks to `sizeBytes`. */
  storeRecording(recording: NewRecording): Promise<StoredRecording>;
  deleteRecording(id: string): Promise<Result<null>>;
}

/** Saved groups. Nothing holds them but their rows. */
export interface Groups {
  /** `conflict` when the name is taken. */
  create(group: NewGroup): Promise<Result<GroupResource>>;
  /** Changes what is given. False: there is no such group. */
  update(
    name: string,
    changed: { readonly description?: string | null; readonly targeting?: PlainTargeting },
    atMs: number,
  ): Promise<boolean>;
  /** False: there is no such group. */
  remove(name: string): Promise<boolean>;
}

/** A group to be stored. Unix ms. */
export interface NewGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly targeting: PlainTargeting;
  readonly atMs: number;
  readonly idempotency: Idempotency | null;
}

/** A recording of an SSH session, as its node sent it. */
export interface NewRecording {
  readonly id: string;
  readonly node: NodeId;
  readonly description: RecordingDescription;
  readonly content: Uint8Array;
  readonly sizeBytes: number;
  readonly atMs: number;
}

/**
 * `known`: this node sent it before. `taken`: its id is that of another node's. `no_node`: the node was deleted
 * meanwhile. `foreign_user`: its user is another node's.
 */
export type StoredRecording = 'stored' | 'known' | 'taken' | 'no_node' | 'foreign_user';

/** Secrets: random, hashed and sealed. What is sealed here is opened by whoever needs it, not by surfaces. */
export interface Vault {
  /** 256 random bits as base64url. */
  newSecret(): string;
  sha256(text: string): Uint8Array;
  /** AES-256-GCM under ENCRYPTION_KEY; `boundTo` names the row and column, and opening under another name fails. */
  seal(text: string, boundTo: string): string;
}

/** Passwords as slow hashes, so few at a time that they leave room for others. Null: too many wait already. */
export interface Passwords {
  /** An Argon2id hash that holds its salt and parameters (E3). */
  hash(password: string): Promise<string | null>;
}

/** Whether a URL given by a client may be called from here (R2). */
export interface UrlGuard {
  /**
   * Null: it may. Else why not, in one sentence for the person who gave it. The address is checked again, and pinned,
   * whenever it is dialled.
   */
  problem(url: string): Promise<string | null>;
}

/** Complete lists of nodes, for service discovery. */
export interface Discovery {
  /**
   * All nodes that match, of one snapshot, in pieces that are not empty. A piece has a line a node, each with its end:
   * id, cluster name as JSON, status, version and name as JSON, an array of host name, system and architecture, and an
   * object of labels, with tabs between. A hundred thousand rows as objects would
   * be 300 MB of garbage. What comes next is read while a piece is used.
   * Throws DatabaseUnavailable, also in the middle, and when nobody asks for the next piece for too long; whoever stops
   * early must `return` it.
   */
  pieces(filters: readonly Filter[]): AsyncGenerator<string, void, void>;
}
