/** Networks of clusters: their rows, and this admin's gateway in them. */
import type { VpnEffect } from '../../actors/vpn/effects.ts';
import type { GatewayLink, MeshWatch } from '../ports.ts';
import type { Performers } from '../runtime/domain-effects.ts';

/** Only clusters have a network: others ask in vain. */
export function vpnEffects(meshes: MeshWatch, gateway: GatewayLink): Performers<VpnEffect> {
  return {
    'read-mesh': (_effect, { self }) => (self.kind === 'cluster' ? meshes.readNow(self.id) : undefined),
    gateway: ({ mesh }) => gateway.become(mesh),
  };
}
