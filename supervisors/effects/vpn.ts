/** VPNs of clusters: their rows, and this admin's gateway in them. */
import type { VpnEffect } from '../../actors/vpn/effects.ts';
import type { GatewayLink, VpnWatch } from '../ports.ts';
import type { Performers } from '../runtime/domain-effects.ts';

/** Only clusters have a VPN: others ask in vain. */
export function vpnEffects(vpns: VpnWatch, gateway: GatewayLink): Performers<VpnEffect> {
  return {
    'read-vpn': (_effect, { self }) => (self.kind === 'cluster' ? vpns.readNow(self.id) : undefined),
    gateway: ({ vpn }) => gateway.become(vpn),
  };
}
