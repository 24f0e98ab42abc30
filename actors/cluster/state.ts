/** What a cluster's actor holds. `record` is null only before its creation is stored. */
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import type { ClusterRecord } from '../records.ts';
import type { LeftOutPeer, VpnPeer, VpnRevision } from '../../transport/protocol/vpn.ts';

/** The state of one cluster. Its nodes are actors of their own; only their number is known here. */
export interface ClusterState {
  readonly id: ClusterId;
  readonly record: ClusterRecord | null;
  readonly vpn: ClusterVpn;
}

/** One change, as members are told of it. */
export interface VpnChange {
  readonly from: VpnRevision;
  readonly to: VpnRevision;
  readonly set: readonly VpnPeer[];
  readonly removed: readonly string[];
}

/** What a cluster's actor knows of its VPN. Nothing was read at first. */
export interface ClusterVpn {
  /** Null: the rows were not read yet. */
  readonly revision: VpnRevision | null;
  /** Members and the gateway by public key. */
  readonly peers: ReadonlyMap<string, VpnPeer>;
  readonly ofNode: ReadonlyMap<NodeId, VpnPeer>;
  /** As in GatewayVpn. */
  readonly leftOut: readonly LeftOutPeer[];
  /** Oldest first. */
  readonly changes: readonly VpnChange[];
  /** Members that were connected when they asked: they are told of changes. */
  readonly listeners: ReadonlySet<NodeId>;
  /** Listeners that asked and had no answer yet: the next reading that has their rows is it. */
  readonly asking: ReadonlySet<NodeId>;
  /** When a member that asks for strangers was told of in the log last, in Unix ms. */
  readonly warnedAtMs: number;
}

/** Nothing read, nobody listening. One object for all. */
export const NO_VPN: ClusterVpn = {
  revision: null,
  peers: new Map(),
  ofNode: new Map(),
  leftOut: [],
  changes: [],
  listeners: new Set(),
  asking: new Set(),
  warnedAtMs: 0,
};
