/** From which places one member was seen, what that says of its NAT, and when others are told. Pure. */
import { fullBucket, take, type BucketLimits, type TokenBucket } from '../../net/token-bucket.ts';
import { SESSION_MS_MAX, SETTLE_MS, TOLD_AGAIN_MS, TOLD_BURST_MAX, TOLD_EVERY_MS } from './limits.ts';

/** One token is one change that is told. */
const TOLD_LIMITS: BucketLimits = { tokensMax: TOLD_BURST_MAX, tokensPerSecond: 1_000 / TOLD_EVERY_MS };

/** Where one port of the observer saw the member: address and port, as WireguardEndpoint. */
export interface Sight {
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
export interface Sightings {
  /** By port of the observer; null: that one has not seen it. */
  readonly sights: readonly (Sight | null)[];
  readonly told: (Place & { readonly atMs: number }) | null;
  /** Changes that may be told. */
  readonly allowance: TokenBucket;
}

/** Never seen by any of so many ports. */
export function neverSeen(ports: number): Sightings {
  return {
    sights: Array.from({ length: ports }, () => null),
    told: null,
    allowance: fullBucket(TOLD_LIMITS),
  };
}

/** One port got a packet of the member from there. */
export function sighted(sightings: Sightings, port: number, endpoint: string, nowMs: number): Sightings {
  return {
    ...sightings,
    sights: sightings.sights.map((sight, at) =>
      at === port
        ? { endpoint, heardMs: nowMs, changedMs: sight?.endpoint === endpoint ? sight.changedMs : nowMs }
        : sight,
    ),
  };
}

/** When the member was last heard; null: never. */
export function lastHeardMs({ sights }: Sightings): number | null {
  return sights.reduce<number | null>(
    (last, sight) => (sight === null ? last : Math.max(last ?? sight.heardMs, sight.heardMs)),
    null,
  );
}

/** What is to be told now, and what is known then. `isDueLater`: there is news that must wait. */
export function toTell(
  sightings: Sightings,
  nowMs: number,
): { readonly sightings: Sightings; readonly place: Place | null; readonly isDueLater: boolean } {
  const place = placeOf(sightings, nowMs);
  if (place === null)
    return { sightings, place: null, isDueLater: sightings.told === null && lastHeardMs(sightings) !== null };
  const { told } = sightings;
  const isNews = told === null || told.endpoint !== place.endpoint || told.isStable !== place.isStable;
  if (!isNews && nowMs < told.atMs + TOLD_AGAIN_MS) return { sightings, place: null, isDueLater: false };

  const { isTaken, bucket: allowance } = take(sightings.allowance, TOLD_LIMITS, 1, nowMs);
  if (!isTaken) return { sightings: { ...sightings, allowance }, place: null, isDueLater: isNews };
  return { sightings: { ...sightings, told: { ...place, atMs: nowMs }, allowance }, place, isDueLater: false };
}

/** Where the member is as far as can be said now; null: a moment more will tell. */
function placeOf({ sights, told }: Sightings, nowMs: number): Place | null {
  const seen = sights.filter((sight) => sight !== null && nowMs - sight.heardMs <= SESSION_MS_MAX) as readonly Sight[];
  const latest = seen.reduce<Sight | null>(
    (one, sight) => (one === null || sight.changedMs > one.changedMs ? sight : one),
    null,
  );
  if (latest === null) return null;
  const isComplete = seen.length === sights.length && seen.length > 1;
  if (
    !isComplete &&
    told === null &&
    sights.length > 1 &&
    nowMs - Math.min(...seen.map((sight) => sight.changedMs)) < SETTLE_MS
  )
    return null;

  // After a change, ports that have not heard the member since say nothing about its NAT.
  const isSame = seen.every((sight) => sight.endpoint === latest.endpoint);
  const isJudged =
    isComplete &&
    (isSame || seen.every((sight) => sight.heardMs >= latest.changedMs)) &&
    seen.every((sight) => isIpv6(sight.endpoint) === isIpv6(latest.endpoint));
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
