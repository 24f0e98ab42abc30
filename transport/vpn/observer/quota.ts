/** How many handshakes may be begun: by all, and by each source, in bounded memory. */
import { sourceNetwork } from '../../net/source-networks.ts';
import { fullBucket, take, type BucketLimits, type TokenBucket } from '../../net/token-bucket.ts';
import {
  HANDSHAKES_BURST_MAX,
  HANDSHAKES_PER_SECOND_MAX,
  SOURCE_HANDSHAKES_BURST_MAX,
  SOURCE_HANDSHAKES_PER_SECOND_MAX,
  SOURCES_MAX,
} from './limits.ts';

const ALL: BucketLimits = { tokensMax: HANDSHAKES_BURST_MAX, tokensPerSecond: HANDSHAKES_PER_SECOND_MAX };
const OF_SOURCE: BucketLimits = {
  tokensMax: SOURCE_HANDSHAKES_BURST_MAX,
  tokensPerSecond: SOURCE_HANDSHAKES_PER_SECOND_MAX,
};

/** Whether one more handshake of this address is within limits; counted when it is. */
export type HandshakeQuota = (address: string, nowMs: number) => boolean;

/** Nothing begun so far. */
export function createHandshakeQuota(): HandshakeQuota {
  let all = fullBucket(ALL);
  const sources = new Map<string, TokenBucket>();

  return (address, nowMs) => {
    const ofAll = take(all, ALL, 1, nowMs);
    if (!ofAll.isTaken) return false;
    const source = sourceNetwork(address);
    const ofSource = take(sources.get(source) ?? fullBucket(OF_SOURCE), OF_SOURCE, 1, nowMs);
    sources.delete(source); // so that insertion order stays the order of age
    if (sources.size >= SOURCES_MAX) sources.delete(sources.keys().next().value ?? '');
    sources.set(source, ofSource.bucket);
    if (ofSource.isTaken) all = ofAll.bucket; // a source over its limits costs the others nothing
    return ofSource.isTaken;
  };
}
