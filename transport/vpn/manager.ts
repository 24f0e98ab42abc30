/** Whoever coordinates the networks of clusters, seen from the admin: this service itself, or Netmaker. */
import type { NodeId } from '../protocol/ids.ts';

/** A network; its name is that of the cluster with the prefix `cluster-`. */
export interface VpnNetwork {
  readonly name: string;
  readonly ipv4Range: string;
  readonly ipv6Range: string;
}

/** A machine known to the manager. `id` is the manager's own. */
export interface VpnHost {
  readonly id: string;
  readonly node: NodeId;
}

/** A name below the network's domain and the member that it leads to. */
export interface VpnName {
  readonly name: string;
  readonly node: NodeId;
}

/** How a member is seen by the manager. */
export interface VpnPeer {
  readonly node: NodeId;
  readonly isConnected: boolean;
}

/**
 * Everything is idempotent: what is there already, or gone already, is no failure. A call that the manager cannot carry out now rejects with one
 * sentence for an operator, and is tried again by the reconciler.
 */
export interface VpnManager {
  readonly kind: 'embedded' | 'netmaker';
  /** Null: it works; else why not. Never rejects. */
  status(signal: AbortSignal): Promise<string | null>;
  networks(): Promise<readonly VpnNetwork[]>;
  ensureNetwork(network: VpnNetwork): Promise<void>;
  removeNetwork(name: string): Promise<void>;
  hosts(): Promise<readonly VpnHost[]>;
  removeHost(node: NodeId): Promise<void>;
  members(network: string): Promise<readonly NodeId[]>;
  /** A machine that is no host yet joins by itself: `joinToken` says how. False: it has to. */
  join(network: string, node: NodeId): Promise<boolean>;
  leave(network: string, node: NodeId): Promise<void>;
  /** What a machine's client shows to enter this network by itself; null where agents enter over their sessions. */
  joinToken(network: string): Promise<string | null>;
  names(network: string): Promise<readonly VpnName[]>;
  /** Exactly these. */
  setNames(network: string, names: readonly VpnName[]): Promise<void>;
  peers(network: string): Promise<readonly VpnPeer[]>;
}
