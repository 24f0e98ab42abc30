/** What an agent says of its place in the VPN of its cluster: what is believed, and what of it is news. */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import { VPN_ENDPOINTS_MAX, type VpnSettings } from '../../transport/protocol/vpn.ts';
import { isLocalNetworkAddress, plainAddress } from '../../transport/net/addresses.ts';
import { endpointParts } from '../../transport/net/endpoints.ts';
import { take, type TokenBucket } from '../../transport/net/token-bucket.ts';
import type { VpnPlace } from '../records.ts';
import { step, type Change, type Effect, type Step } from '../step.ts';
import type { MessageOf } from './messages.ts';
import type { LiveSession, NodeState } from './state.ts';
import { vpnRefused } from './vpn.ts';
import { ADVERTISEMENTS, NEWS, NEWS_PER_SECOND_MAX } from './vpn-state.ts';

type Advertised = MessageOf<'vpn-advertised'>;

/**
 * The agent says what it is. News is stored first; then its cluster tells it what it misses. One that says too much is
 * hung up; news beyond its allowance waits, and only the last of it is stored.
 */
export function advertised(
  before: NodeState,
  session: LiveSession,
  said: MessageOf<'vpn-advertised'>,
  vpn: VpnSettings | undefined,
  nowMs: number,
): Step<NodeState> {
  const { isLate = false } = said;
  // what was put off was counted when it came
  const cost = isLate ? 0 : 1;
  const { isTaken, bucket } = take(before.vpnAllowances.advertisements, ADVERTISEMENTS, cost, nowMs);
  if (!isTaken) return tooOften(before, session, bucket);
  const isNewsWaiting = before.vpnAllowances.isNewsWaiting && !isLate;
  const vpnAllowances = { ...before.vpnAllowances, advertisements: bucket, isNewsWaiting };
  const state: NodeState = { ...before, vpnAllowances };
  if (isKeyOfObserver(said, vpn))
    return vpnRefused(state, {
      code: 'conflict',
      message: "This WireGuard key is an observer's: a machine makes its own.",
    });
  return placed(state, said, nowMs);
}

function tooOften(state: NodeState, session: LiveSession, advertisements: TokenBucket): Step<NodeState> {
  const hangUp: Effect = {
    type: 'hang-up',
    session: session.id,
    code: CLOSE.policy,
    reason: 'it says more often where it is in the VPN than it can have changed',
  };
  return step({ ...state, vpnAllowances: { ...state.vpnAllowances, advertisements } }, [], [hangUp]);
}

function isKeyOfObserver({ advertisement }: Advertised, vpn: VpnSettings | undefined): boolean {
  return vpn?.mode === 'embedded' && vpn.observers.some((observer) => observer.public_key === advertisement.public_key);
}

/** Where it is now. News is stored, and then told on; what is no news only asks for what the agent misses. */
function placed(state: NodeState, said: Advertised, nowMs: number): Step<NodeState> {
  const { record, vpnAllowances } = state;
  const place = placeOf(state, said);
  const wanted: Effect = {
    type: 'tell',
    told: {
      to: { kind: 'cluster', id: record.cluster },
      message: { type: 'vpn-wanted', node: record.id, revision: said.advertisement.revision },
    },
  };
  const later: Effect = {
    type: 'remind',
    key: 'vpn-news',
    afterMs: 1_000 / NEWS_PER_SECOND_MAX,
    message: { ...said, isLate: true },
  };
  const instead: readonly Effect[] = vpnAllowances.isNewsWaiting ? [later] : [];
  // what was left out was told when it was new
  if (isSamePlace(state.vpn, place)) return step(state, [], [wanted, ...instead]);
  const { isTaken, bucket: news } = take(vpnAllowances.news, NEWS, 1, nowMs);
  if (!isTaken) return step({ ...state, vpnAllowances: { ...vpnAllowances, news, isNewsWaiting: true } }, [], [later]);
  const stored: Change = {
    write: { kind: 'vpn-member-set', node: record.id, cluster: record.cluster, place, atMs: nowMs },
    events: [],
    notices: [],
    onceStored: [wanted],
  };
  const leftOut = said.advertisement.endpoints.length - place.endpoints.length;
  return step(
    { ...state, vpn: place, vpnAllowances: { ...vpnAllowances, news } },
    [stored],
    [...(leftOut === 0 ? [] : [lied(state, leftOut)]), ...instead],
  );
}

function placeOf(state: NodeState, { advertisement, from }: Advertised): VpnPlace {
  const seen = [from, endpointParts(state.vpn?.observed ?? '')?.address ?? null];
  const isSameSocket =
    state.vpn?.publicKey === advertisement.public_key && state.vpn.listenPort === advertisement.listen_port;
  return {
    publicKey: advertisement.public_key,
    listenPort: advertisement.listen_port,
    endpoints: advertisement.endpoints.filter((endpoint) => isOwnEndpoint(endpoint, seen)).slice(0, VPN_ENDPOINTS_MAX),
    relayRegion: advertisement.relay_region,
    observed: isSameSocket ? state.vpn.observed : null,
    isStable: isSameSocket ? state.vpn.isStable : null,
  };
}

function lied({ record }: NodeState, leftOut: number): Effect {
  return {
    type: 'warn',
    message: 'a node names addresses that are not its own as places where it is reached: they are left out',
    fields: { node: record.id, left_out: leftOut },
  };
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
