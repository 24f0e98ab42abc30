/**
 * Watchtower, which updates containers: the one of containrrr, whose Go module can be had everywhere, and which nobody
 * maintains any more. The maintained line is a stand-in in the tests (test/support/agent/watchtower-double.ts).
 */
import type { Peer } from './peer.ts';
import { goPeer } from './go-peer.ts';

/** Found as its path. Raise the cache with the source. */
export const watchtowerPeer: Peer = goPeer({ name: 'watchtower', source: 'watchtower', cache: 'watchtower-1' });
