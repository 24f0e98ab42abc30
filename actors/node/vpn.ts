/**
 * What a node has to do with the VPN of its cluster: it says where its agent is, and passes on what the cluster tells.
 */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import { VPN_ENDPOINTS_MAX } from '../../transport/protocol/vpn.ts';
import type { VpnReport, VpnSettings } from '../../transport/protocol/vpn.ts';
import { isLocalNetworkAddress, plainAddress } from '../../transport/net/addresses.ts';
import { endpointParts } from '../../transport/net/endpoints.ts';
import { fullBucket, take, type BucketLimits, type TokenBucket } from '../../transport/net/token-bucket.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import type { VpnPlace } from '../records.ts';
import type { Refusal } from '../refusal.ts';
import type { MessageOf } from './messages.ts';
import type { LiveSession, NodeState } from './state.ts';

/**
 * Tries of direct paths that an agent may ask for at once, and how many more each second: one a peer of a large VPN
 * when it starts.
 */
export const TRIES_BURST_MAX = 512;
export const TRIES_PER_SECOND_MAX = 8;

/**
 * What an agent may say of itself at once, and how much more each second: each may be the whole VPN as the answer.
 */
export const ADVERTISEMENTS_BURST_MAX = 128;
export const ADVERTISEMENTS_PER_SECOND_MAX = 4;

/**
 * News of itself that is stored at once, and how much more each second: each is a row, and a frame to every other
 * member. What comes faster is taken together, the newest last (L1).
 */
export const NEWS_BURST_MAX = 32;
export const NEWS_PER_SECOND_MAX = 0.5;

const TRIES: BucketLimits = { tokensMax: TRIES_BURST_MAX, tokensPerSecond: TRIES_PER_SECOND_MAX };
const ADVERTISEMENTS: BucketLimits = {
  tokensMax: ADVERTISEMENTS_BURST_MAX,
  tokensPerSecond: ADVERTISEMENTS_PER_SECOND_MAX,
};
const NEWS: BucketLimits = { tokensMax: NEWS_BURST_MAX, tokensPerSecond: NEWS_PER_SECOND_MAX };

/** What is known of the VPN on a live session. */
export interface VpnSession {
  /** The last report and when it came; null: none yet. */
  readonly report: { readonly said: VpnReport; readonly atMs: number } | null;
}

/** Of a session that has just begun. One object for all. */
export const NEW_VPN_SESSION: VpnSession = { report: null };

/**
 * What a node may still cost the others. It is the node's and not the session's: an agent that connects again has no
 * more than before.
 */
export interface VpnAllowances {
  readonly tries: TokenBucket;
  readonly advertisements: TokenBucket;
  readonly news: TokenBucket;
  /** A reminder of news that was too much is under way: what is said until then takes its place. */
  readonly isNewsWaiting: boolean;
}

/** Nothing was spent. One object for all. */
export const FULL_VPN_ALLOWANCES: VpnAllowances = {
  tries: fullBucket(TRIES),
  advertisements: fullBucket(ADVERTISEMENTS),
  news: fullBucket(NEWS),
  isNewsWaiting: false,
};

/**
 * The agent says what it is. News is stored first; then its cluster tells it what it misses. One that says too much is
 * hung up; news beyond its allowance waits, and only the last of it is stored.
 */
export function advertised(
  before: NodeState,
  session: LiveSession,
  said: MessageOf<'mesh-advertised'>,
  vpn: VpnSettings | undefined,
  nowMs: number,
): Step<NodeState> {
  const { advertisement, from, isLate = false } = said;
  // what was put off was counted when it came
  const { isTaken, bucket: advertisements } = take(
    before.vpnAllowances.advertisements,
    ADVERTISEMENTS,
    isLate ? 0 : 1,
    nowMs,
  );
  if (!isTaken)
    return step(
      { ...before, vpnAllowances: { ...before.vpnAllowances, advertisements } },
      [],
      [
        {
          type: 'hang-up',
          session: session.id,
          code: CLOSE.policy,
          reason: 'it says more often where it is in the VPN than it can have changed',
        },
      ],
    );
  const isWaiting = before.vpnAllowances.isNewsWaiting && !isLate;
  const state: NodeState = {
    ...before,
    vpnAllowances: { ...before.vpnAllowances, advertisements, isNewsWaiting: isWaiting },
  };
  const later: Effect = {
    type: 'remind',
    key: 'mesh-news',
    afterMs: 1_000 / NEWS_PER_SECOND_MAX,
    message: { ...said, isLate: true },
  };
  const instead: readonly Effect[] = isWaiting ? [later] : [];
  if (vpn?.mode === 'embedded' && vpn.observers.some((observer) => observer.public_key === advertisement.public_key))
    return vpnRefused(state, {
      code: 'conflict',
      message: "This WireGuard key is an observer's: a machine makes its own.",
    });
  const { record } = state;
  const isBelieved = (endpoint: string): boolean =>
    isOwnEndpoint(endpoint, [from, endpointParts(state.vpn?.observed ?? '')?.address ?? null]);
  const endpoints = advertisement.endpoints.filter(isBelieved).slice(0, VPN_ENDPOINTS_MAX);
  const lied: readonly Effect[] =
    endpoints.length === advertisement.endpoints.length
      ? []
      : [
          {
            type: 'warn',
            message: 'a node names addresses that are not its own as places where it is reached: they are left out',
            fields: { node: record.id, left_out: advertisement.endpoints.length - endpoints.length },
          },
        ];
  const isSameSocket =
    state.vpn?.publicKey === advertisement.public_key && state.vpn.listenPort === advertisement.listen_port;
  const place: VpnPlace = {
    publicKey: advertisement.public_key,
    listenPort: advertisement.listen_port,
    endpoints,
    relayRegion: advertisement.relay_region,
    observed: isSameSocket ? state.vpn.observed : null,
    isStable: isSameSocket ? state.vpn.isStable : null,
  };
  const wanted: Effect = {
    type: 'tell',
    told: {
      to: { kind: 'cluster', id: record.cluster },
      message: { type: 'mesh-wanted', node: record.id, revision: advertisement.revision },
    },
  };
  // what was left out was told when it was new
  if (isSamePlace(state.vpn, place)) return step(state, [], [wanted, ...instead]);
  const { isTaken: isNewsTaken, bucket: news } = take(state.vpnAllowances.news, NEWS, 1, nowMs);
  const vpnAllowances = { ...state.vpnAllowances, news };
  if (!isNewsTaken) return step({ ...state, vpnAllowances: { ...vpnAllowances, isNewsWaiting: true } }, [], [later]);
  return step(
    { ...state, vpn: place, vpnAllowances },
    [
      {
        write: { kind: 'mesh-member-set', node: record.id, cluster: record.cluster, place, atMs: nowMs },
        events: [],
        notices: [],
        onceStored: [wanted],
      },
    ],
    [...lied, ...instead],
  );
}

/** Its WireGuard socket was seen from outside. */
export function observed(
  state: NodeState,
  { publicKey, endpoint, isStable }: MessageOf<'mesh-observed'>,
  nowMs: number,
): Step<NodeState> {
  const { vpn, record, session } = state;
  if (vpn?.publicKey !== publicKey || (vpn.observed === endpoint && vpn.isStable === isStable)) return unchanged(state);
  const told: readonly Effect[] =
    session === null
      ? []
      : [{ type: 'send', session: session.id, frame: { type: 'mesh-observed', endpoint, is_stable: isStable } }];
  return step(
    { ...state, vpn: { ...vpn, observed: endpoint, isStable } },
    [
      {
        write: { kind: 'mesh-observed', node: record.id, publicKey, observed: endpoint, isStable, atMs: nowMs },
        events: [],
        notices: [],
      },
    ],
    told,
  );
}

/** The agent wants both sides of a pair to try at once. More than its allowance is not passed on: it asks again. */
export function directWanted(
  state: NodeState,
  { publicKey }: MessageOf<'direct-wanted'>,
  nowMs: number,
): Step<NodeState> {
  const { isTaken, bucket: tries } = take(state.vpnAllowances.tries, TRIES, 1, nowMs);
  const next: NodeState = { ...state, vpnAllowances: { ...state.vpnAllowances, tries } };
  return !isTaken
    ? step(next, [])
    : step(
        next,
        [],
        [
          {
            type: 'tell',
            told: {
              to: { kind: 'cluster', id: state.record.cluster },
              message: { type: 'direct-wanted', node: state.record.id, publicKey },
            },
          },
        ],
      );
}

/** How well the agent is connected with the others. */
export function vpnReported(
  state: NodeState,
  session: LiveSession,
  { report }: MessageOf<'mesh-reported'>,
  nowMs: number,
): Step<NodeState> {
  return step(
    { ...state, session: { ...session, vpn: { ...session.vpn, report: { said: report, atMs: nowMs } } } },
    [],
  );
}

/** The cluster tells its members: the agent hears it if it is there. One that is not asks when it comes. */
export function vpnTold(state: NodeState, { body }: MessageOf<'mesh-told'>): Step<NodeState> {
  return state.session === null
    ? unchanged(state)
    : step(state, [], [{ type: 'send', session: state.session.id, frame: body }]);
}

/** The rows did not take what the agent said of itself: it is told why. */
export function vpnRefused(state: NodeState, refusal: Refusal): Step<NodeState> {
  const warning: Effect = {
    type: 'warn',
    message: 'a node was not let into the VPN of its cluster',
    fields: { node: state.record.id, problem: refusal.message },
  };
  return step(
    state,
    [],
    state.session === null
      ? [warning]
      : [
          warning,
          {
            type: 'send',
            session: state.session.id,
            frame: { type: 'mesh-refused', reason: refusal.message.slice(0, 512) },
          },
        ],
  );
}

/**
 * Private addresses are anybody's; a public one must be one from which the node was seen to come, or it could point
 * others at a stranger.
 */
function isOwnEndpoint(endpoint: string, seen: readonly (string | null)[]): boolean {
  const address = endpointParts(endpoint)?.address.toLowerCase();
  return (
    address !== undefined &&
    (isLocalNetworkAddress(address) || seen.some((one) => one !== null && plainAddress(one).toLowerCase() === address))
  );
}

function isSamePlace(one: VpnPlace | null, other: VpnPlace): boolean {
  return one !== null && JSON.stringify(inOrder(one)) === JSON.stringify(inOrder(other));
}

function inOrder({
  publicKey,
  listenPort,
  endpoints,
  observed: seen,
  isStable,
  relayRegion,
}: VpnPlace): readonly unknown[] {
  return [publicKey, listenPort, endpoints, seen, isStable, relayRegion];
}
