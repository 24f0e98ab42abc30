/** Who coordinates VPNs: the manager that the settings name. */
import type { EmbeddedVpnRows, VpnHostRows } from '../../actors/vpn/rows.ts';
import type { VpnManager } from '../../actors/vpn/vpn.ts';
import { createEmbeddedVpn } from './embedded.ts';
import { NetmakerVpn } from './netmaker/netmaker.ts';

/** What the admin's settings say of it. The key is there when the URL is. */
export interface VpnManagerSettings {
  readonly EDGE_VPN_API_URL?: string | undefined;
  readonly EDGE_VPN_MASTER_KEY?: string | undefined;
  readonly EDGE_VPN_DEFAULT_DOMAIN: string;
}

/** Rows of either kind. */
export interface VpnManagerRows {
  readonly hosts: VpnHostRows;
  readonly embedded: EmbeddedVpnRows;
}

/** Netmaker where its URL is set, else the service itself. Opens nothing before the first call. */
export function createVpnManager(
  { EDGE_VPN_API_URL: url, EDGE_VPN_MASTER_KEY: masterKey = '', EDGE_VPN_DEFAULT_DOMAIN: domain }: VpnManagerSettings,
  { hosts, embedded }: VpnManagerRows,
): VpnManager {
  return url === undefined
    ? createEmbeddedVpn(embedded)
    : new NetmakerVpn({ url, masterKey, domain, rows: hosts, nowMs: () => Date.now() });
}
