/**
 * How the effects of actors reach the outside, and how actors come back from rows. Implemented by persistence and
 * transport, wired in main. What only the publishing or only the ownership loop needs stands with them.
 */
import type { Lease } from '../actors/behaviour.ts';
import type { GatewayVpn } from '../actors/vpn/effects.ts';
import type { ClusterState } from '../actors/cluster/state.ts';
import type { CommandState } from '../actors/command/state.ts';
import type { NodeState } from '../actors/node/state.ts';
import type { VpnReading, OpenExecution, WebhookRecord } from '../actors/records.ts';
import type { Refusal } from '../actors/refusal.ts';
import type { CountedSelfUpdate, SelfUpdateState } from '../actors/self-update/state.ts';
import type { SshOutcome } from '../actors/ssh/login-attempts.ts';
import type { Change } from '../actors/step.ts';
import type { EventType } from '../actors/events.ts';
import type { Attempt, DeliveryRef } from '../actors/webhook/delivery.ts';
import type { WebhookState } from '../actors/webhook/state.ts';
import type { CloseCode } from '../transport/protocol/close-codes.ts';
import type { AdminFrameBody } from '../transport/protocol/frames.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId, SessionId } from '../transport/protocol/ids.ts';
import type { SshCredential, SshGrant } from '../transport/protocol/ssh.ts';

/** Stores steps. Groups those of many actors into one transaction. */
export interface Committer {
  /**
   * Stores the changes, each atomic with its events. Resolves when they are durable, with those that were refused.
   * Rejects with DatabaseUnavailable when it cannot tell; after that the actor rebuilds itself from rows. `isAwaited`:
   * a caller waits, who is refused while too much else is to be stored; without one a change waits for its turn.
   */
  commit(lease: Lease | null, changes: readonly Change[], isAwaited: boolean): Promise<readonly RefusedChange[]>;
  /** Resolves when the database answers again; at once when it does. */
  ready(): Promise<void>;
  /** Resolves when everything that waits now to be stored with others is stored or refused. Rejects as `commit`. */
  caughtUp(): Promise<void>;
}

/** A change that its guard or a constraint refused. Its events were not stored either. */
export interface RefusedChange {
  readonly change: Change;
  readonly refusal: Refusal;
}

/** Rebuilds actors from rows. Null: no such row. */
export interface Loader {
  /**
   * All nodes of these clusters, in rounds that are each read well within the limit of a statement. `isHere`: those
   * that are left out, asked before each round; none unless it is given.
   */
  nodes(clusters: readonly ClusterId[], isHere?: (node: NodeId) => boolean): AsyncIterable<readonly NodeState[]>;
  node(id: NodeId): Promise<NodeState | null>;
  clusters(ids: readonly ClusterId[]): Promise<readonly ClusterState[]>;
  command(id: CommandId): Promise<CommandState | null>;
  webhook(id: string): Promise<WebhookState | null>;
  selfUpdate(id: string): Promise<SelfUpdateState | null>;
  /** What the rows of a request say; null: it is gone. Requests that ask at once share statements. */
  countSelfUpdate(id: string): Promise<CountedSelfUpdate | null>;
  /**
   * Open executions of a node in creation order, at most `limit`, without those named; `more` when there are others.
   * Nodes that ask at once share statements.
   */
  openExecutions(
    node: NodeId,
    limit: number,
    except: readonly string[],
  ): Promise<{ readonly executions: readonly OpenExecution[]; readonly more: boolean }>;
  /**
   * Those of the named executions that are open and belong to this node. `leftMs`: for how long those that expire may
   * still start, in ms, by the database's clock as the rows were read; others may be in it.
   */
  findOpen(
    node: NodeId,
    executions: readonly ExecutionId[],
  ): Promise<{ readonly executions: readonly OpenExecution[]; readonly leftMs: ReadonlyMap<ExecutionId, number> }>;
}

/** What another admin stored for nodes of this one, as it tells it. Each returns at once. */
export interface WakeUps {
  /** Executions of these commands are pending for nodes of this admin, or are to be cancelled there. */
  heard(what: 'run' | 'cancel', commands: readonly CommandId[]): void;
  /** Nodes of this admin have their turn in these self-update requests. */
  due(requests: readonly string[]): void;
  /** This node came into this cluster. */
  moved(node: NodeId, cluster: ClusterId): void;
  /** Nothing was heard for a while. */
  missed(): void;
}

/** Live control sessions of agents. */
export interface SessionLink {
  /**
   * Sends, or drops the frame when the session is gone: `agent-disconnected` follows. An agent that does not read is
   * cut, so this never grows without bound. `cluster`: whose the session is from now on.
   */
  send(session: SessionId, frame: AdminFrameBody, cluster?: ClusterId): void;
  hangUp(session: SessionId, code: CloseCode, reason: string): void;
  /**
   * Ends a session whose node moved to this cluster. Its agent says hello again on the same connection; one that is too
   * old for that has to connect anew.
   */
  renew(session: SessionId, cluster: ClusterId): void;
  /** Whatever session the node has here. */
  hangUpNode(node: NodeId, code: CloseCode, reason: string): void;
  /**
   * Their agents are to go to another admin, at this URL; empty: to any. They are told at a pace. Until then they stay
   * connected, and what they say is for nobody: they say it again where they come.
   */
  depart(clusters: ReadonlySet<ClusterId>, url: string): void;
  /** How many of those wait to be told now. */
  departing(): number;
  /** Resolves when all of those are told, or after so many ms; what is left then is told at once. */
  departed(msMax: number): Promise<void>;
}

/** What a webhook asks for. */
export interface DeliveriesAsked {
  readonly subscribedEvents: readonly EventType[];
  /** Behind this cursor; null: from the beginning. */
  readonly after: string | null;
  readonly limit: number;
}

/** What webhooks are sent. */
export interface WebhookSupply {
  /**
   * Unfinished deliveries of a webhook in the order of their events; `more` when there are others. Rejects with
   * DatabaseUnavailable.
   */
  next(
    webhook: string,
    asked: DeliveriesAsked,
  ): Promise<{ readonly deliveries: readonly DeliveryRef[]; readonly more: boolean }>;
  /** The delivery of the event at this cursor has its row now. */
  stored(webhook: string, cursor: string): void;
  /** A webhook is gone. */
  ended(webhook: string): void;
}

/** Requests to webhooks. */
export interface WebhookSender {
  /**
   * One try. Resolves with what it came to, within the time limit; null when this admin may not deliver any more, or
   * the request was cut: then nobody should count it. Never rejects.
   */
  send(webhook: WebhookRecord, delivery: DeliveryRef): Promise<Attempt | null>;
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

/** VPNs of clusters as rows. */
export interface ClusterVpnRows {
  /** One reading a cluster, in this order. Rejects with DatabaseUnavailable. */
  read(clusters: readonly ClusterId[]): Promise<readonly VpnReading[]>;
}

/** Reads VPNs for the actors of their clusters. */
export interface VpnWatch {
  /** The VPN of this cluster is read now; its actor is told. */
  readNow(cluster: ClusterId): void;
}

/** This admin's own membership in the VPNs of its clusters. */
export interface GatewayLink {
  /** What the VPN of a cluster is from now on, for as long as this admin owns it. Returns at once. */
  become(vpn: GatewayVpn): void;
}
