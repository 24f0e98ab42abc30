/** Helm, by its Go module. */
import type { Peer } from './peer.ts';
import { goPeer } from './go-peer.ts';

/** Found as its path. Another version gets another cache. */
export const helmPeer: Peer = goPeer({
  name: 'helm',
  source: 'helm',
  cache: 'helm-3.22.0',
  packages: ['helm.sh/helm/v3/cmd/helm'],
});
