/**
 * What a node has to do with the mesh of its cluster: it says where its agent is, and passes on what the cluster tells.
 */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import { MESH_ENDPOINTS_MAX } from '../../transport/protocol/mesh.ts';
import type { MeshReport, MeshSettings } from '../../transport/protocol/mesh.ts';
import { isLocalNetworkAddress, plainAddress } from '../../transport/net/addresses.ts';
import { endpointParts } from '../../transport/net/endpoints.ts';
import { fullBucket, take, type BucketLimits, type TokenBucket } from '../../transport/net/token-bucket.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import type { MeshPlace } from '../records.ts';
import type { Refusal } from '../refusal.ts';
import type { MessageOf } from './messages.ts';
import type { LiveSession, NodeState } from './state.ts';

/**
 * Tries of direct paths that an agent may ask for at once, and how many more each second: one a peer of a large network
 * when it starts.
 */
export const TRIES_BURST_MAX = 512;
export const TRIES_PER_SECOND_MAX = 8;

/**
 * What an agent may say of itself at once, and how much more each second: each may be the whole network as the answer.
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

/** What is known of the mesh on a live session. */
export interface MeshSession {
  /** The last report and when it came; null: none yet. */
  readonly report: { readonly said: MeshReport; readonly atMs: number } | null;
}

/** Of a session that has just begun. One object for all. */
export const NEW_MESH_SESSION: MeshSession = { report: null };

/**
 * What a node may still cost the others. It is the node's and not the session's: an agent that connects again has no
 * more than before.
 */
export interface MeshAllowances {
  readonly tries: TokenBucket;
  readonly advertisements: TokenBucket;
  readonly news: TokenBucket;
  /** A reminder of news that was too much is under way: what is said until then takes its place. */
  readonly isNewsWaiting: boolean;
}

/** Nothing was spent. One object for all. */
export const FULL_MESH_ALLOWANCES: MeshAllowances = {
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
  mesh: MeshSettings | undefined,
  nowMs: number,
): Step<NodeState> {
  const { advertisement, from, isLate = false } = said;
  // what was put off was counted when it came
  const { isTaken, bucket: advertisements } = take(
    before.meshAllowances.advertisements,
    ADVERTISEMENTS,
    isLate ? 0 : 1,
    nowMs,
  );
  if (!isTaken)
    return step(
      { ...before, meshAllowances: { ...before.meshAllowances, advertisements } },
      [],
      [
        {
          type: 'hang-up',
          session: session.id,
          code: CLOSE.policy,
          reason: 'it says more often where it is in the mesh than it can have changed',
        },
      ],
    );
  const isWaiting = before.meshAllowances.isNewsWaiting && !isLate;
  const state: NodeState = {
    ...before,
    meshAllowances: { ...before.meshAllowances, advertisements, isNewsWaiting: isWaiting },
  };
  const later: Effect = {
    type: 'remind',
    key: 'mesh-news',
    afterMs: 1_000 / NEWS_PER_SECOND_MAX,
    message: { ...said, isLate: true },
  };
  const instead: readonly Effect[] = isWaiting ? [later] : [];
  if (mesh?.mode === 'embedded' && mesh.observers.some((observer) => observer.public_key === advertisement.public_key))
    return meshRefused(state, {
      code: 'conflict',
      message: "This WireGuard key is an observer's: a machine makes its own.",
    });
  const { record } = state;
  const isBelieved = (endpoint: string): boolean =>
    isOwnEndpoint(endpoint, [from, endpointParts(state.mesh?.observed ?? '')?.address ?? null]);
  const endpoints = advertisement.endpoints.filter(isBelieved).slice(0, MESH_ENDPOINTS_MAX);
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
    state.mesh?.publicKey === advertisement.public_key && state.mesh.listenPort === advertisement.listen_port;
  const place: MeshPlace = {
    publicKey: advertisement.public_key,
    listenPort: advertisement.listen_port,
    endpoints,
    relayRegion: advertisement.relay_region,
    observed: isSameSocket ? state.mesh.observed : null,
    isStable: isSameSocket ? state.mesh.isStable : null,
  };
  const wanted: Effect = {
    type: 'tell',
    told: {
      to: { kind: 'cluster', id: record.cluster },
      message: { type: 'mesh-wanted', node: record.id, revision: advertisement.revision },
    },
  };
  // what was left out was told when it was new
  if (isSamePlace(state.mesh, place)) return step(state, [], [wanted, ...instead]);
  const { isTaken: isNewsTaken, bucket: news } = take(state.meshAllowances.news, NEWS, 1, nowMs);
  const meshAllowances = { ...state.meshAllowances, news };
  if (!isNewsTaken) return step({ ...state, meshAllowances: { ...meshAllowances, isNewsWaiting: true } }, [], [later]);
  return step(
    { ...state, mesh: place, meshAllowances },
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
  const { mesh, record, session } = state;
  if (mesh?.publicKey !== publicKey || (mesh.observed === endpoint && mesh.isStable === isStable))
    return unchanged(state);
  const told: readonly Effect[] =
    session === null
      ? []
      : [{ type: 'send', session: session.id, frame: { type: 'mesh-observed', endpoint, is_stable: isStable } }];
  return step(
    { ...state, mesh: { ...mesh, observed: endpoint, isStable } },
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
  const { isTaken, bucket: tries } = take(state.meshAllowances.tries, TRIES, 1, nowMs);
  const next: NodeState = { ...state, meshAllowances: { ...state.meshAllowances, tries } };
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
export function meshReported(
  state: NodeState,
  session: LiveSession,
  { report }: MessageOf<'mesh-reported'>,
  nowMs: number,
): Step<NodeState> {
  return step(
    { ...state, session: { ...session, mesh: { ...session.mesh, report: { said: report, atMs: nowMs } } } },
    [],
  );
}

/** The cluster tells its members: the agent hears it if it is there. One that is not asks when it comes. */
export function meshTold(state: NodeState, { body }: MessageOf<'mesh-told'>): Step<NodeState> {
  return state.session === null
    ? unchanged(state)
    : step(state, [], [{ type: 'send', session: state.session.id, frame: body }]);
}

/** The rows did not take what the agent said of itself: it is told why. */
export function meshRefused(state: NodeState, refusal: Refusal): Step<NodeState> {
  const warning: Effect = {
    type: 'warn',
    message: 'a node was not let into the network of its cluster',
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

function isSamePlace(one: MeshPlace | null, other: MeshPlace): boolean {
  return one !== null && JSON.stringify(inOrder(one)) === JSON.stringify(inOrder(other));
}

function inOrder({
  publicKey,
  listenPort,
  endpoints,
  observed: seen,
  isStable,
  relayRegion,
}: MeshPlace): readonly unknown[] {
  return [publicKey, listenPort, endpoints, seen, isStable, relayRegion];
}
