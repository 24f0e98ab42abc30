/** What an agent says of its place in the VPN. */
import type { VpnAdvertisement } from '../../../../transport/protocol/vpn.ts';

/** The public key of the node. */
export const KEY = 'zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMw=';

/** The public key of somebody else. */
export const OTHER_KEY = '3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d0=';

/** Where it is, as it says itself. */
export const SAID: VpnAdvertisement = {
  public_key: KEY,
  listen_port: 51_820,
  endpoints: ['192.168.1.20:51820'],
  relay_region: 900,
  revision: { epoch: 2, number: 7 },
};
