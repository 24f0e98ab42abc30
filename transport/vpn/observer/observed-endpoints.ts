/** From which places one member was seen, what that says of its NAT, and when others are told. Pure. */
import { fullBucket, take, type BucketLimits, type TokenBucket } from '../../net/token-bucket.ts';
import { SESSION_MS_MAX, SETTLE_MS, TOLD_AGAIN_MS, TOLD_BURST_MAX, TOLD_EVERY_MS } from './limits.ts';

/** One token is one change that is told. */
const TOLD_LIMITS: BucketLimits = { tokensMax: TOLD_BURST_MAX, tokensPerSecond: 1_000 / TOLD_EVERY_MS };

/** Where one port of the observer saw the member: address and port, as WireguardEndpoint. */
export interface ObservedEndpoint {
  readonly endpoint: string;
  readonly heardMs: number;
  /** Since when it is this endpoint. */
  readonly changedMs: number;
}

/**
 * What is told: the same endpoint from everywhere (true), another to each (false: its port is of use to nobody), or not
 * known.
 */
export interface Place {
  readonly endpoint: string;
  readonly isStable: boolean | null;
}

/** What is known of one member. */
export interface ObservedEndpoints {
  /** By port of the observer; null: that one has not seen it. */
  readonly observations: readonly (ObservedEndpoint | null)[];
  readonly told: (Place & { readonly atMs: number }) | null;
  /** Changes that may be told. */
  readonly allowance: TokenBucket;
}

/** Never seen by any of so many ports. */
export function neverSeen(ports: number): ObservedEndpoints {
  return {
    observations: Array.from({ length: ports }, () => null),
    told: null,
    allowance: fullBucket(TOLD_LIMITS),
  };
}

/**
 * One port got a packet of the member from there: it may be one more than there were when the member was seen first.
 */
export function observe(observed: ObservedEndpoints, port: number, endpoint: string, nowMs: number): ObservedEndpoints {
  return {
    ...observed,
    observations: Array.from({ length: Math.max(observed.observations.length, port + 1) }, (_, at) => {
      const observation = observed.observations[at] ?? null;
      return at === port
        ? { endpoint, heardMs: nowMs, changedMs: observation?.endpoint === endpoint ? observation.changedMs : nowMs }
        : observation;
    }),
  };
}

/** When the member was last heard; null: never. */
export function lastHeardMs({ observations }: ObservedEndpoints): number | null {
  return observations.reduce<number | null>(
    (last, observation) => (observation === null ? last : Math.max(last ?? observation.heardMs, observation.heardMs)),
    null,
  );
}

/** What is to be told now, and what is known then. `isDueLater`: there is news that must wait. */
export function toTell(
  observed: ObservedEndpoints,
  nowMs: number,
): { readonly observed: ObservedEndpoints; readonly place: Place | null; readonly isDueLater: boolean } {
  const place = placeOf(observed, nowMs);
  if (place === null)
    return { observed, place: null, isDueLater: observed.told === null && lastHeardMs(observed) !== null };
  const { told } = observed;
  const isNews = told === null || told.endpoint !== place.endpoint || told.isStable !== place.isStable;
  if (!isNews && nowMs < told.atMs + TOLD_AGAIN_MS) return { observed, place: null, isDueLater: false };

  const { isTaken, bucket: allowance } = take(observed.allowance, TOLD_LIMITS, 1, nowMs);
  if (!isTaken) return { observed: { ...observed, allowance }, place: null, isDueLater: isNews };
  return { observed: { ...observed, told: { ...place, atMs: nowMs }, allowance }, place, isDueLater: false };
}

/** Where the member is as far as can be said now; null: a moment more will tell. */
function placeOf({ observations, told }: ObservedEndpoints, nowMs: number): Place | null {
  const seen = observations.filter(
    (observation) => observation !== null && nowMs - observation.heardMs <= SESSION_MS_MAX,
  ) as readonly ObservedEndpoint[];
  const latest = seen.reduce<ObservedEndpoint | null>(
    (one, observation) => (one === null || observation.changedMs > one.changedMs ? observation : one),
    null,
  );
  if (latest === null) return null;
  const isComplete = seen.length === observations.length && seen.length > 1;
  if (
    !isComplete &&
    told === null &&
    observations.length > 1 &&
    nowMs - Math.min(...seen.map((observation) => observation.changedMs)) < SETTLE_MS
  )
    return null;

  // After a change, ports that have not heard the member since say nothing about its NAT.
  const isSame = seen.every((observation) => observation.endpoint === latest.endpoint);
  const isJudged =
    isComplete &&
    (isSame || seen.every((observation) => observation.heardMs >= latest.changedMs)) &&
    seen.every((observation) => isIpv6(observation.endpoint) === isIpv6(latest.endpoint));
  const isStable = isJudged ? isSame : (told?.isStable ?? null);
  // Behind a hard NAT only the address matters: the port is another for everybody.
  if (isStable === false && told?.isStable === false && addressOf(told.endpoint) === addressOf(latest.endpoint))
    return { endpoint: told.endpoint, isStable };
  return { endpoint: latest.endpoint, isStable };
}

function addressOf(endpoint: string): string {
  return endpoint.slice(0, endpoint.lastIndexOf(':'));
}

function isIpv6(endpoint: string): boolean {
  return endpoint.startsWith('[');
}
