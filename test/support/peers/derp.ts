/** Others' relay and client of the DERP protocol: `derper`, and a small client of the same Go module, made here. */
import type { Peer } from './peer.ts';
import { goPeer } from './go-peer.ts';

/** Found as the path of derper; the client lies beside it as `derp`. Raise the cache with the source. */
export const derpPeer: Peer = goPeer({
  name: 'derper',
  source: 'derp',
  cache: 'derp-1',
  packages: ['.', 'tailscale.com/cmd/derper'],
});
