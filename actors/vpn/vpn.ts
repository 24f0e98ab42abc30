/**
 * Whoever coordinates the networks of clusters, seen from the admin: this service itself, or Netmaker. A port, and the
 * words for what it holds.
 */
import { NETWORK_PREFIX } from '../../transport/protocol/cluster-names.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';

/** Longest name of a network. Source: Netmaker; the prefix and the longest name of a cluster fit exactly. */
export const NETWORK_NAME_CHARACTERS_MAX = 32;

/** What a host is called, and the first label of its name, before the node's id. */
export const HOST_PREFIX = 'node-';

/** A network; its name is that of the cluster with the prefix `cluster-`. Ranges as PostgreSQL writes them. */
export interface VpnNetwork {
  readonly name: string;
  readonly ipv4Range: string;
  readonly ipv6Range: string;
}

/** A machine known to the manager. `id` is the manager's own, and never told to anyone. */
export interface VpnHost {
  readonly id: string;
  readonly node: NodeId;
}

/** A host in one of our networks. Null: it is no node of ours. */
export interface VpnMember {
  readonly network: string;
  readonly host: string;
  readonly node: NodeId | null;
}

/** A name below the network's domain and the member that it leads to; null: it leads to none. */
export interface VpnName {
  readonly name: string;
  readonly node: NodeId | null;
}

/** A name that should be. */
export interface WantedName extends VpnName {
  readonly node: NodeId;
}

/** How a member is seen by the manager. */
export interface VpnMemberStatus {
  readonly node: NodeId;
  readonly isConnected: boolean;
}

/** All that the manager has of ours, as read at one time. */
export interface VpnSurvey {
  readonly networks: readonly VpnNetwork[];
  /** Those of nodes; others are not ours. */
  readonly hosts: readonly VpnHost[];
  readonly members: readonly VpnMember[];
  readonly names: readonly (VpnName & { readonly network: string })[];
}

/**
 * The manager cannot be reached, or is too busy: everything else would fail as well. The message is one sentence
 * without secrets and addresses.
 */
export class VpnUnavailable extends Error {
  override readonly name = 'VpnUnavailable';
}

/** The manager does not do this one thing. The message is one sentence without secrets and addresses. */
export class VpnRefused extends Error {
  override readonly name = 'VpnRefused';
}

/** Throws when whoever changes something may not go on: another may by now. What it throws is passed on. */
export type Keep = () => void;

/**
 * Everything is idempotent: what is there already, or gone already, is no failure. Deletions may show a little later. A
 * call that cannot be carried out now rejects with VpnUnavailable or VpnRefused, and is tried again by the reconciler.
 * Whatever is not called as ours is refused. `keep` is asked before each request of a call that changes something,
 * where a call takes several.
 */
export interface VpnManager {
  readonly kind: 'embedded' | 'netmaker';
  /** Null: it works; else why not. Never rejects. */
  status(signal: AbortSignal): Promise<string | null>;
  survey(): Promise<VpnSurvey>;
  networks(): Promise<readonly VpnNetwork[]>;
  ensureNetwork(network: VpnNetwork, keep?: Keep): Promise<void>;
  /** With its members and names. */
  removeNetwork(name: string, keep?: Keep): Promise<void>;
  hosts(): Promise<readonly VpnHost[]>;
  removeHost(node: NodeId, keep?: Keep): Promise<void>;
  members(network: string): Promise<readonly NodeId[]>;
  /** False: the machine is no host yet and has to join by itself; `joinToken` says how. */
  join(network: string, node: NodeId, keep?: Keep): Promise<boolean>;
  leave(network: string, node: NodeId, keep?: Keep): Promise<void>;
  /** Puts out a host that is no node of ours. */
  expel(network: string, host: string, keep?: Keep): Promise<void>;
  /** What a machine's client shows to enter this network by itself; null where agents enter over their sessions. */
  joinToken(network: string): Promise<string | null>;
  names(network: string): Promise<readonly VpnName[]>;
  /** Exactly these; those of nodes that are no members are left out. */
  setNames(network: string, names: readonly WantedName[], keep?: Keep): Promise<void>;
  peers(network: string): Promise<readonly VpnMemberStatus[]>;
  /** Ends connections. What is under way is cut. */
  close(): Promise<void>;
}

/** The cluster of a network of ours, by name; null when it is not ours. */
export function clusterOf(network: string): string | null {
  return network.startsWith(NETWORK_PREFIX) &&
    network.length > NETWORK_PREFIX.length &&
    network.length <= NETWORK_NAME_CHARACTERS_MAX
    ? network.slice(NETWORK_PREFIX.length)
    : null;
}

/** What the host of a node is called. */
export function hostNameOf(node: NodeId): string {
  return `${HOST_PREFIX}${node}`;
}
