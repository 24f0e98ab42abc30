/** What is stored of networks, as those who coordinate them see it. */
import type { NodeId } from '../../transport/protocol/ids.ts';
import type { WantedVpn } from './drift.ts';
import type { VpnHost, VpnMemberStatus, VpnSurvey } from './vpn.ts';

/** Steps of a move that follow the one that is stored with the move itself. */
export type MoveStep = 'leave' | 'join' | 'names';

/** A move whose later steps are not done. `version` changes when the node is moved again meanwhile. */
export interface UnfinishedMove {
  readonly node: NodeId;
  readonly from: string;
  /** Null: that cluster is gone, and the node with it. */
  readonly to: string | null;
  readonly step: MoveStep;
  readonly version: string;
}

/** A node that is no host yet and should be in this network. */
export interface Uninvited {
  readonly node: NodeId;
  readonly network: string;
}

/** Which node each host is, stored. Every call rejects with DatabaseUnavailable when the database is away. */
export interface VpnHostRows {
  hosts(): Promise<readonly VpnHost[]>;
  /** In which network each of these nodes should be; those that are no nodes of ours are left out. */
  networksOf(nodes: readonly NodeId[]): Promise<ReadonlyMap<NodeId, string>>;
  /**
   * These hosts are these nodes from now on; those that are no nodes of ours are left out, and those that are another's
   * already.
   */
  knowHosts(hosts: readonly VpnHost[]): Promise<void>;
  /** These hosts are not there any more. */
  forgetHosts(hosts: readonly VpnHost[]): Promise<void>;
}

/** The right to reconcile, which one admin has at a time. */
export interface ReconcilerLease {
  /** The epoch under which it is held. Null: another admin has it. */
  claim(): Promise<number | null>;
  /** False: it was taken. */
  renew(epoch: number): Promise<boolean>;
  release(epoch: number): Promise<void>;
}

/** Rows for reconciling. Every call rejects with DatabaseUnavailable when the database is away. */
export interface VpnRows extends VpnHostRows {
  /** All that should be. */
  wanted(): Promise<WantedVpn>;
  /** The networks of these names that should be; those that should not are left out. */
  wantedOf(networks: readonly string[]): Promise<WantedVpn['networks']>;
  /** The oldest of them, at most `limit`: those of the nodes in `last` behind all others, as they stand there. */
  moves(limit: number, last?: readonly NodeId[]): Promise<readonly UnfinishedMove[]>;
  /** The move at its next step; Null: the node was moved again meanwhile, or another admin did it. */
  advance(move: UnfinishedMove, next: MoveStep): Promise<UnfinishedMove | null>;
  /** Forgets a move that has come to its end, unless the node was moved again. */
  finish(move: UnfinishedMove): Promise<void>;
  /** Nodes of clusters that this admin owns now, by age, behind `after`, at most `limit`. */
  uninvited(limit: number, after: NodeId | null): Promise<readonly Uninvited[]>;
  /** Whoever reconciles looks at once, at whichever admin. */
  wake(): Promise<void>;
  readonly lease: ReconcilerLease;
}

/** Networks as the embedded manager has them: the rows that the members of a network are told of. */
export interface EmbeddedVpnRows {
  /** Answers when the database does. */
  ping(): Promise<void>;
  survey(): Promise<VpnSurvey>;
  /** Of one network; null: there is none. */
  surveyOf(network: string): Promise<VpnSurvey | null>;
  /** False: it has no key yet. A member follows its node, so a network that is not that of its cluster is refused. */
  join(network: string, node: NodeId): Promise<boolean>;
  /** A member goes to the network of its cluster, unless it is there. */
  leave(network: string, node: NodeId): Promise<void>;
  removeHost(node: NodeId): Promise<void>;
  /** Members, and whether their machines were heard of lately. */
  peers(network: string): Promise<readonly VpnMemberStatus[]>;
}
