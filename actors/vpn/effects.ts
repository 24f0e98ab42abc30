/** What clusters ask of their VPNs. */
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { LeftOutPeer, VpnPeer } from '../../transport/protocol/vpn.ts';

/** Of clusters. */
export type VpnEffect =
  /** The rows of this cluster's VPN are read now: they come back as `vpn-read`. */
  | { readonly type: 'read-vpn' }
  /** The gateway of this admin is to be in this state of the cluster's VPN. */
  | { readonly type: 'gateway'; readonly vpn: GatewayVpn };

/** The VPN that a gateway joins: the cluster's ranges, and all members by their public keys. */
export interface GatewayVpn {
  readonly cluster: ClusterId;
  readonly clusterName: string;
  readonly ipv4Range: string;
  readonly ipv6Range: string;
  readonly peers: ReadonlyMap<string, VpnPeer>;
  /** Those of which the rows say what no interface takes: nobody is told of them. */
  readonly leftOut: readonly LeftOutPeer[];
}
