/** What the owner of a cluster tells of its VPN: what changed, to whom, and the whole to whom misses it. Pure. */
import type { NodeId } from '../../transport/protocol/ids.ts';
import { LEFT_OUT_NAMED_MAX, leftOutNote } from '../../transport/protocol/vpn.ts';
import type { LeftOutPeer, VpnMembership, VpnPeer, VpnRevision } from '../../transport/protocol/vpn.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import type { VpnBody } from '../node/messages.ts';
import type { ClusterRecord } from '../records.ts';
import type { MessageOf } from './messages.ts';
import type { ClusterState, ClusterVpn, VpnChange } from './state.ts';
import { isSame, peersOf } from './vpn-peers.ts';

/**
 * Changes that are remembered for members that were away for a moment; who was away for longer is told the whole
 * VPN.
 */
export const VPN_CHANGES_MAX = 64;

/** Both sides of a pair begin to try a direct path after this, in ms: their sessions deliver the message within it. */
const TRY_IN_MS = 250;

/**
 * MTU of the VPNs: what fits through any path and a relay. Source: notes of measurements; 1,420 gains an eighth
 * where nothing is in the way.
 */
export const VPN_MTU = 1_280;

/** How often the log is told of members that ask for strangers, in ms. */
const WARN_MS = 10_000;

/**
 * The rows were read: what differs from what is known becomes one change, told in one frame a member. Who is left out
 * is no part of it, as members are told of peers alone.
 */
export function vpnRead(
  state: ClusterState,
  record: ClusterRecord,
  { epoch, number, reading }: MessageOf<'vpn-read'>,
  domain: string,
): Step<ClusterState> {
  const { vpn } = state;
  const { peers, leftOut } = peersOf(reading.members, reading.gateway);
  const set = [...peers.values()].filter((peer) => !isSame(vpn.peers.get(peer.public_key), peer));
  const removed = [...vpn.peers.keys()].filter((key) => !peers.has(key));
  const isChanged = vpn.revision?.epoch !== epoch || set.length > 0 || removed.length > 0;
  const isNews = isChanged || isOther(leftOut, vpn.leftOut);
  const told = isChanged ? advanced(vpn, { epoch, number }, { peers, set, removed }) : vpn;
  const next = waiting(isNews ? { ...told, leftOut } : told, vpn);
  if (next === vpn) return unchanged(state);
  return step(
    { ...state, vpn: next },
    [],
    [
      ...incomplete(record, leftOut, vpn.leftOut),
      ...leftOut.flatMap((peer) => refusalOf(record, vpn, peer)),
      ...(isChanged ? toldOf(next, set, record, domain) : []),
      ...(vpn.revision === null ? toAsk(next, record) : []),
      ...(isNews ? [gatewayOf(next, record)] : []),
    ],
  );
}

/**
 * A machine that is left out hears why, when that is new and when it asks: another key puts a damaged row right, and a
 * full VPN may have room later.
 */
function refusalOf(record: ClusterRecord, vpn: ClusterVpn, { node, reason }: LeftOutPeer): readonly Effect[] {
  if (node === null || !(vpn.asking.has(node) || (vpn.listeners.has(node) && vpn.ofNode.has(node)))) return [];
  return [
    tellNode(record, node, {
      type: 'mesh-refused',
      reason: `This machine is left out of the VPN of its cluster: ${reason}`,
    }),
  ];
}

/**
 * No other cluster of this admin has the number of this revision: a node that was just moved may ask with a state of
 * the one that it left, and is told all.
 */
function advanced(
  vpn: ClusterVpn,
  revision: VpnRevision,
  { peers, set, removed }: Pick<ClusterVpn, 'peers'> & Pick<VpnChange, 'set' | 'removed'>,
): ClusterVpn {
  const changes =
    vpn.revision?.epoch === revision.epoch
      ? [...vpn.changes, { from: vpn.revision, to: revision, set, removed }].slice(-VPN_CHANGES_MAX)
      : [];
  const ofNode = new Map(
    [...peers.values()].flatMap((peer): [NodeId, VpnPeer][] => (peer.node === null ? [] : [[peer.node, peer]])),
  );
  return { ...vpn, revision, peers, ofNode, changes };
}

/**
 * Who waits for what comes after this reading: listeners but those that have left, and of those that asked the ones
 * whose rows are not in it, as it may have begun before they were stored.
 */
function waiting(next: ClusterVpn, before: ClusterVpn): ClusterVpn {
  const [are, were] = [nodesOf(next), nodesOf(before)];
  const listeners = new Set([...next.listeners].filter((node) => are.has(node) || !were.has(node)));
  const asking = new Set([...next.asking].filter((node) => !are.has(node) && listeners.has(node)));
  return listeners.size === next.listeners.size && asking.size === next.asking.size
    ? next
    : { ...next, listeners, asking };
}

/** Machines of the VPN, also those that it is without. */
function nodesOf({ ofNode, leftOut }: ClusterVpn): ReadonlySet<NodeId | null> {
  return new Set([...ofNode.keys(), ...leftOut.map(({ node }) => node)]);
}

/** The newest change, to each member that listens. Where its own place changed, or nothing can be told apart: all. */
function toldOf(vpn: ClusterVpn, set: readonly VpnPeer[], record: ClusterRecord, domain: string): readonly Effect[] {
  const changed = new Set(set.map((peer) => peer.node));
  const [change] = vpn.changes.slice(-1);
  return [...vpn.listeners]
    .filter((node) => vpn.ofNode.has(node))
    .map((node) =>
      tellNode(
        record,
        node,
        change === undefined || changed.has(node) ? whole(vpn, record, node, domain) : changedBody(change),
      ),
    );
}

/**
 * An actor that is anew, after a crash or at another admin, knows nobody who listens (R4). So each member hears of a
 * change in which nothing is: one that holds another state cannot follow it, and asks for what it misses.
 */
function toAsk(vpn: ClusterVpn, record: ClusterRecord): readonly Effect[] {
  const { revision, listeners, ofNode } = vpn;
  if (revision === null) return [];
  const nothing = changedBody({ from: revision, to: revision, set: [], removed: [] });
  return [...ofNode.keys()].filter((node) => !listeners.has(node)).map((node) => tellNode(record, node, nothing));
}

/** Not for each of many that are left out: when others than before are named. */
function incomplete(
  { name: cluster }: ClusterRecord,
  leftOut: readonly LeftOutPeer[],
  before: readonly LeftOutPeer[],
): readonly Effect[] {
  const problem = leftOutNote(leftOut);
  if (problem === null || !isOther(leftOut.slice(0, LEFT_OUT_NAMED_MAX), before.slice(0, LEFT_OUT_NAMED_MAX)))
    return [];
  return [{ type: 'warn', message: 'a VPN is told without some of its members', fields: { cluster, problem } }];
}

function isOther(leftOut: readonly LeftOutPeer[], before: readonly LeftOutPeer[]): boolean {
  return (
    leftOut.length !== before.length ||
    leftOut.some(({ node, reason }, index) => node !== before[index]?.node || reason !== before[index].reason)
  );
}

function gatewayOf({ peers, leftOut }: ClusterVpn, record: ClusterRecord): Effect {
  return {
    type: 'gateway',
    vpn: {
      cluster: record.id,
      clusterName: record.name,
      ipv4Range: record.ipv4Range,
      ipv6Range: record.ipv6Range,
      peers,
      leftOut,
    },
  };
}

/** A member is connected: it is told what it misses, now or as soon as its row was read. */
export function vpnWanted(
  state: ClusterState,
  record: ClusterRecord,
  { node, revision }: MessageOf<'vpn-wanted'>,
  domain: string,
): Step<ClusterState> {
  const { vpn } = state;
  const listening = vpn.listeners.has(node)
    ? state
    : { ...state, vpn: { ...vpn, listeners: new Set([...vpn.listeners, node]) } };
  if (vpn.revision === null || !vpn.ofNode.has(node))
    return step(
      { ...listening, vpn: { ...listening.vpn, asking: new Set([...vpn.asking, node]) } },
      [],
      [{ type: 'read-vpn' }],
    );
  const changes = missed(vpn, revision);
  // A member is no peer of itself: what changed in its own place is told with the whole VPN.
  const isOwn = changes?.some(({ set }) => set.some((peer) => peer.node === node)) ?? false;
  return step(
    listening,
    [],
    changes === null || isOwn
      ? [tellNode(record, node, whole(vpn, record, node, domain))]
      : changes.map((change) => tellNode(record, node, changedBody(change))),
  );
}

/** Both sides of a pair are told to try at once. One that asks for somebody else's peer is told nothing. */
export function directWanted(
  state: ClusterState,
  record: ClusterRecord,
  { node, publicKey }: MessageOf<'direct-wanted'>,
  nowMs: number,
): Step<ClusterState> {
  if (state.vpn.revision === null) return step(state, [], [{ type: 'read-vpn' }]); // it asks again
  const [asking, asked] = [state.vpn.ofNode.get(node), state.vpn.peers.get(publicKey)];
  if (asking === undefined || asked === undefined) {
    // one that asks without end does not fill the log
    if (Math.abs(nowMs - state.vpn.warnedAtMs) < WARN_MS) return unchanged(state);
    return step(
      { ...state, vpn: { ...state.vpn, warnedAtMs: nowMs } },
      [],
      [{ type: 'warn', message: 'a node wants a path to what is no peer of its own', fields: { node } }],
    );
  }
  const toAsking = tellNode(record, node, { type: 'mesh-try', public_key: publicKey, in_ms: TRY_IN_MS });
  return step(
    state,
    [],
    asked.node === null
      ? [toAsking]
      : [toAsking, tellNode(record, asked.node, { type: 'mesh-try', public_key: asking.public_key, in_ms: TRY_IN_MS })],
  );
}

/**
 * The changes from this state to the present one; null when they are not all remembered. Nothing is missed by who has
 * the present one.
 */
function missed(vpn: ClusterVpn, held: VpnRevision | null): readonly VpnChange[] | null {
  if (held === null) return null;
  if (isRevision(held, vpn.revision)) return [];
  const first = vpn.changes.findIndex(({ from }) => isRevision(from, held));
  return first === -1 ? null : vpn.changes.slice(first);
}

function isRevision(one: VpnRevision, other: VpnRevision | null): boolean {
  return other !== null && one.epoch === other.epoch && one.number === other.number;
}

function whole(vpn: ClusterVpn, record: ClusterRecord, node: NodeId, domain: string): VpnBody {
  const own = vpn.ofNode.get(node);
  if (own === undefined || vpn.revision === null)
    return { type: 'mesh-refused', reason: 'This machine is not in the VPN of its cluster' };
  const network: VpnMembership = {
    cluster_name: record.name,
    domain: `${record.name}.${domain}`,
    public_key: own.public_key,
    ipv4: own.ipv4,
    ipv6: own.ipv6,
    ipv4_range: record.ipv4Range,
    ipv6_range: record.ipv6Range,
    mtu: VPN_MTU,
    aliases: own.aliases,
  };
  return {
    type: 'mesh-network',
    revision: vpn.revision,
    network,
    peers: [...vpn.peers.values()].filter((peer) => peer !== own),
  };
}

function changedBody({ from, to, set, removed }: VpnChange): VpnBody {
  return { type: 'mesh-changed', from, to, set: [...set], removed: [...removed] };
}

function tellNode({ id: cluster }: Pick<ClusterRecord, 'id'>, node: NodeId, body: VpnBody): Effect {
  return { type: 'tell', told: { to: { kind: 'node', id: node }, message: { type: 'vpn-told', cluster, body } } };
}
