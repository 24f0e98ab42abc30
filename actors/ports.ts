/** How actors and surfaces reach the outside. Implemented by persistence and transport, wired in main. */
import type { CloseCode } from '../transport/protocol/close-codes.ts';
import type { Diagnosis, DiagnosisCheck } from '../transport/protocol/diagnosis.ts';
import type { AdminFrameBody } from '../transport/protocol/frames.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId, SessionId } from '../transport/protocol/ids.ts';
import type { RecordingDescription } from '../transport/protocol/recording.ts';
import type { SshCredential, SshGrant } from '../transport/protocol/ssh.ts';
import type { GatewayMesh } from './cluster/mesh.ts';
import type { ClusterState } from './cluster/state.ts';
import type { CommandState } from './command/state.ts';
import type { DomainEvent, StoredEvent } from './events.ts';
import type { Addressed } from './messages.ts';
import type { Filter, ListName, ListQuery } from './filters.ts';
import type { AgentMetrics, HostMetrics } from './node-metrics.ts';
import type { SshOutcome } from './ssh/login.ts';
import type { NodeState } from './node/state.ts';
import type { EnrolledBefore, EnrollmentKeyRecord, MeshReading, OpenExecution, WebhookRecord } from './records.ts';
import type { Attempt, DeliveryRef } from './webhook/delivery.ts';
import type { WebhookState } from './webhook/state.ts';
import type { Refusal, Result } from './refusal.ts';
import type {
  AdminClusterResource,
  AdminResource,
  AliasResource,
  ClusterHostNames,
  ClusterResource,
  CommandResource,
  EnrollmentKeyResource,
  ExecutionResource,
  MyAdminClusterResource,
  NodeResource,
  NodeStatus,
  SshPublicKeyResource,
  SshRecordingResource,
  SshUsernameResource,
  WebhookDeliveryResource,
  WebhookResource,
} from './resources.ts';
import type { Target, Targeting } from './targeting.ts';
import type { Lease } from './behaviour.ts';
import type { Asker } from './asker.ts';
import type { Change } from './step.ts';

/** Time and delays; tests give their own. */
export interface Clock {
  /** Unix time, ms. */
  nowMs(): number;
  /** Calls back once after the delay; the returned function cancels. Never keeps the process alive. */
  after(ms: number, run: () => void): () => void;
}

/**
 * Structured lines. `fields` come first and may hold anything but secrets' own names, which are blanked; the message is
 * constant, so that lines can be counted by it.
 */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A change that its guard or a constraint refused. Its events were not stored either. */
export interface RefusedChange {
  readonly change: Change;
  readonly refusal: Refusal;
}

/** Stores steps. Groups those of many actors into one transaction. */
export interface Committer {
  /**
   * Stores the changes, each atomic with its events. Resolves when they are durable, with those that were refused.
   * Rejects with DatabaseUnavailable when it cannot tell; after that the actor rebuilds itself from rows.
   */
  commit(lease: Lease | null, changes: readonly Change[]): Promise<readonly RefusedChange[]>;
  /** Resolves when the database answers again; at once when it does. */
  ready(): Promise<void>;
}

/** The database did not answer in time, or the connection was lost: what was written is unknown. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
}

/** Rebuilds actors from rows. Null: no such row. */
export interface Loader {
  nodes(clusters: readonly ClusterId[]): Promise<readonly NodeState[]>;
  node(id: NodeId): Promise<NodeState | null>;
  clusters(ids: readonly ClusterId[]): Promise<readonly ClusterState[]>;
  command(id: CommandId): Promise<CommandState | null>;
  webhook(id: string): Promise<WebhookState | null>;
  /**
   * Unfinished deliveries of a webhook behind a cursor in the order of their events, at most `limit`; `more` when there
   * are others.
   */
  deliveries(
    webhook: string,
    after: string | null,
    limit: number,
  ): Promise<{ readonly deliveries: readonly DeliveryRef[]; readonly more: boolean }>;
  /** Commands that have open executions. */
  openCommands(): Promise<readonly CommandId[]>;
  /**
   * Open executions of a node in creation order, at most `limit`, without those named; `more` when there are others.
   */
  openExecutions(
    node: NodeId,
    limit: number,
    except: readonly string[],
  ): Promise<{ readonly executions: readonly OpenExecution[]; readonly more: boolean }>;
  /** Those of the named executions that are open and belong to this node. */
  findOpen(node: NodeId, executions: readonly ExecutionId[]): Promise<readonly OpenExecution[]>;
}

/** Live control sessions of agents. */
export interface SessionLink {
  /**
   * Sends, or drops the frame when the session is gone: `agent-disconnected` follows. An agent that does not read is
   * cut, so this never grows without bound.
   */
  send(session: SessionId, frame: AdminFrameBody): void;
  hangUp(session: SessionId, code: CloseCode, reason: string): void;
  /**
   * Ends a session whose node moved to this cluster. Its agent says hello again on the same connection; one that is too
   * old for that has to connect anew.
   */
  renew(session: SessionId, cluster: ClusterId): void;
  /** Whatever session the node has here. */
  hangUpNode(node: NodeId, code: CloseCode, reason: string): void;
}

/** Networks of clusters as rows. */
export interface MeshRows {
  /** One reading a cluster, in this order. Rejects with DatabaseUnavailable. */
  read(clusters: readonly ClusterId[]): Promise<readonly MeshReading[]>;
}

/** Reads networks for the actors of their clusters. */
export interface MeshWatch {
  /** The network of this cluster is read now; its actor is told. */
  readNow(cluster: ClusterId): void;
}

/** This admin's own membership in the networks of its clusters. */
export interface GatewayLink {
  /** What the network of a cluster is from now on, for as long as this admin owns it. Returns at once. */
  become(mesh: GatewayMesh): void;
}

/** Requests to webhooks. */
export interface WebhookPosts {
  /**
   * One try. Resolves with what it came to, within the time limit; null when this admin may not deliver any more, or
   * the request was cut: then nobody should count it. Never rejects.
   */
  post(webhook: WebhookRecord, delivery: DeliveryRef): Promise<Attempt | null>;
  /** Cuts all requests of a webhook that are under way. */
  cut(webhook: string): void;
}

/** Checks SSH logins against the rows. */
export interface SshVerifier {
  /**
   * What a login comes to. Takes as long for a username that does not exist as for a wrong password. Null: the database
   * does not answer. Never rejects.
   */
  verify(node: NodeId, username: string, credential: SshCredential): Promise<SshOutcome | null>;
  /** Those of the named usernames and keys that do not open this node any more. Rejects with DatabaseUnavailable. */
  gone(
    node: NodeId,
    grants: readonly SshGrant[],
  ): Promise<{ readonly sshUsernames: readonly string[]; readonly sshPublicKeys: readonly string[] }>;
  /** Counts a login that was refused without a look. */
  limited(): void;
}

/** Passwords as slow hashes, so few at a time that they leave room for others. Null: too many wait already. */
export interface Passwords {
  /** An Argon2id hash that holds its salt and parameters (E3). */
  hash(password: string): Promise<string | null>;
  /**
   * Whether this is the password. A null hash is never matched, and takes as long. Those of other lanes do not wait for
   * all of one.
   */
  verify(password: string, hash: string | null, lane: string): Promise<boolean | null>;
}

/** Whether a URL given by a client may be called from here (R2). */
export interface UrlGuard {
  /**
   * Null: it may. Else why not, in one sentence for the person who gave it. The address is checked again, and pinned,
   * whenever it is dialled.
   */
  problem(url: string): Promise<string | null>;
}

/** One page. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly totalCount: number;
}

/** Resource rows of every list. */
export interface ListRows {
  clusters: ClusterResource;
  enrollment_keys: EnrollmentKeyResource;
  nodes: NodeResource;
  aliases: AliasResource;
  commands: CommandResource;
  command_executions: ExecutionResource;
  ssh_usernames: SshUsernameResource;
  ssh_public_keys: SshPublicKeyResource;
  ssh_recordings: SshRecordingResource;
  webhooks: WebhookResource;
  webhook_deliveries: WebhookDeliveryResource;
}

/** The read side: SQL over rows. Every call rejects with DatabaseUnavailable within 5 s at the latest (L3). */
export interface Reads {
  list<N extends ListName>(name: N, query: ListQuery): Promise<Page<ListRows[N]>>;
  /** By id; clusters by name. Null when there is none. Single reads carry what lists leave out. */
  get<N extends ListName>(name: N, key: string): Promise<ListRows[N] | null>;
  clusterId(name: string): Promise<ClusterId | null>;
  /**
   * A free pair of ranges for a new cluster; null when the configured ranges are full. Another create may take it
   * first: then the create is refused with `conflict` and the caller asks again, a few times.
   */
  freeRanges(): Promise<{ readonly ipv4Range: string; readonly ipv6Range: string } | null>;
  /**
   * Which nodes a targeting reaches, in one snapshot. Refuses a targeting that names a cluster or node that does not
   * exist with no error: it simply matches nothing.
   */
  targets(targeting: Targeting): Promise<readonly Target[]>;
  executionNode(
    id: ExecutionId,
  ): Promise<{ readonly node: NodeId; readonly status: ExecutionResource['status'] } | null>;
  aliasNode(id: string): Promise<NodeId | null>;
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
  /**
   * A delivery with the webhook that it goes to, as its actor would hold it; null when there is none, or its event is
   * gone.
   */
  delivery(id: string): Promise<{ readonly webhook: string; readonly ref: DeliveryRef } | null>;
  remembered(scope: string, key: string): Promise<{ readonly bodyHash: string; readonly answer: unknown } | null>;
  /** Events after a cursor in commit order, oldest first; null starts at the end and returns only the cursor. */
  eventsAfter(
    cursor: string | null,
    limit: number,
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly cursor: string }>;
  /** Answers when the database does, for health. */
  ping(): Promise<void>;
}

/**
 * Asks an actor and waits for its answer, at most ASK_MS_MAX. An actor that does not live here, or is too busy, refuses
 * with `service_unavailable`; one that does not exist with `not_found`.
 */
export type Ask = <T>(build: (asker: Asker) => Addressed) => Promise<Result<T>>;

/** Live output of running executions, asked of the agent itself. */
export interface Tails {
  /**
   * Streams output of an execution that runs on a node from byte `offset`. Calls `onOutput` in order; `end` is the last
   * call.
   * `onRenewed`: the node's session is another one, on which nothing comes of this stream: it has to be opened anew.
   * The returned function stops the stream. Null when the node has no live session here.
   */
  open(
    node: NodeId,
    execution: ExecutionId,
    offset: number,
    onOutput: (piece: { readonly offset: number; readonly text: string; readonly end: boolean }) => void,
    onRenewed: () => void,
  ): (() => void) | null;
}

/** Secrets: random, hashed and sealed. */
export interface Vault {
  /** 256 random bits as base64url. */
  newSecret(): string;
  sha256(text: string): Uint8Array;
  /** AES-256-GCM under ENCRYPTION_KEY; `boundTo` names the row and column, and opening under another name fails. */
  seal(text: string, boundTo: string): string;
  open(sealed: string, boundTo: string): string;
}

/** What can be scraped of a node. */
export const METRICS_SOURCES = ['host', 'agent', 'wireguard'] as const;
/** One of them. */
export type MetricsSource = (typeof METRICS_SOURCES)[number];

/**
 * Metrics of nodes, read live from their agents. Nothing is kept between two reads. Rejects with DatabaseUnavailable.
 */
export interface NodeMetrics {
  /**
   * The exposition of one source as its node gave it, in pieces, whole and well-formed. `service_unavailable` when it
   * cannot be had, within METRICS_SCRAPE_TIMEOUT_MS, with a sentence that says why.
   */
  raw(node: NodeId, source: MetricsSource, signal?: AbortSignal): Promise<Result<readonly Uint8Array[]>>;
  /** The same of its host and of its agent, as records. */
  host(node: NodeId): Promise<Result<HostMetrics>>;
  agent(node: NodeId): Promise<Result<AgentMetrics>>;
}

/** Complete lists of nodes, for service discovery. */
export interface Discovery {
  /**
   * All nodes that match, of one snapshot, in pieces that are not empty. A piece has a line a node, each with its end:
   * id, cluster name as JSON, status, and version as JSON, with tabs between. A hundred thousand rows as objects would
   * be 300 MB of garbage. What comes next is read while a piece is used.
   * Throws DatabaseUnavailable, also in the middle, and when nobody asks for the next piece for too long; whoever stops
   * early must `return` it.
   */
  pieces(filters: readonly Filter[]): AsyncGenerator<string, void, void>;
}

/** A node as a diagnosis starts from it: what the rows know of it. */
export interface NodeStanding {
  readonly status: NodeStatus;
  readonly lastSeenAtMs: number | null;
  /** Of its agent. */
  readonly version: string;
  /** Of its agent's API. */
  readonly apiPort: number;
  /** The admin that owns its cluster and has its session; null: none now. */
  readonly owner: { readonly id: string; readonly name: string } | null;
  /** Ranges of its cluster's VPN, as CIDR. */
  readonly ranges: readonly string[];
  /** The last report; null: none so far, or one that this version cannot read. */
  readonly report: { readonly collectedAtMs: number; readonly checks: readonly DiagnosisCheck[] } | null;
}

/**
 * A diagnosis as clients get it. `is_live`: the agent's own checks were made just now; else `collected_at` says when.
 */
export interface NodeReport extends Diagnosis {
  readonly is_live: boolean;
}

/** Reports on machines. Diagnoses change nothing but the report that is kept. Both reject with DatabaseUnavailable. */
export interface NodeDiagnoses {
  /**
   * What is wrong with a node, the network first; within 15 s. Those who ask meanwhile share the answer. A node that is
   * away gets its last report, behind what is seen from here.
   */
  get(node: NodeId): Promise<Result<NodeReport>>;
  /** Keeps a report that an agent brought. `validation_failed` when it is none. */
  take(node: NodeId, body: unknown): Promise<Result<null>>;
}

/** What this admin says of itself and its peers. */
export interface AdminDirectory {
  me(): Promise<AdminResource>;
}

/** Admins and what they own. Every call rejects with DatabaseUnavailable when the database is away. */
export interface AdminTopology {
  /** The group of this admin. */
  mine(): Promise<Omit<MyAdminClusterResource, 'degraded'>>;
  /** All groups by name, with admins that are registered and silent. */
  adminClusters(): Promise<readonly AdminClusterResource[]>;
  /** By the name of the admin that owns them. */
  edgeClusters(): Promise<Readonly<Record<string, ClusterHostNames>>>;
  /** These, as far as nobody owns them now. */
  ownerless(clusters: readonly ClusterId[]): Promise<ClusterHostNames>;
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

/** Clears live state no actor holds. */
export interface Records {
  /** 409 while it is not terminal. */
  deleteExecution(id: ExecutionId): Promise<Result<null>>;
  /** Stores an event that no row change goes with. */
  publish(event: DomainEvent): Promise<StoredEvent>;
  /** Stores a recording once, however often it comes. `content` is gzipped, and unpacks to `sizeBytes`. */
  storeRecording(recording: NewRecording): Promise<StoredRecording>;
  deleteRecording(id: string): Promise<Result<null>>;
}
