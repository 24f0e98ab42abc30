/** A VPN as an agent is told of it, for tests of names. */
import type { NodeId } from '../../../transport/protocol/ids.ts';
import { VpnMembership, VpnPeer } from '../../../transport/protocol/vpn.ts';

/** This member, and two others. */
export const SELF = '11111111-1111-4111-8111-111111111111' as NodeId;
export const OTHER = '22222222-2222-4222-8222-222222222222' as NodeId;
export const THIRD = '33333333-3333-4333-8333-333333333333' as NodeId;

const KEY = `${'A'.repeat(42)}E=`;

/** Checked as what comes from an admin is. */
export function network(changes: Partial<VpnMembership> = {}): VpnMembership {
  return VpnMembership.parse({
    cluster_name: 'prod',
    domain: 'prod.edge.internal',
    public_key: KEY,
    ipv4: '100.64.1.2',
    ipv6: 'fd00:64:1::2',
    ipv4_range: '100.64.1.0/24',
    ipv6_range: 'fd00:64:1::/64',
    mtu: 1_280,
    aliases: [],
    ...changes,
  });
}

/** Host number `host` of it. */
export function peer(node: NodeId | null, host: number, aliases: readonly string[] = []): VpnPeer {
  return VpnPeer.parse({
    node,
    public_key: KEY,
    ipv4: `100.64.1.${host}`,
    ipv6: `fd00:64:1::${host.toString(16)}`,
    endpoints: [],
    relay_region: null,
    aliases,
  });
}
