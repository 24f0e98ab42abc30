/** The VPN of a cluster as its owner holds it: who is in it, what changed lately, and who is told. Pure. */
import type { NodeId } from '../../transport/protocol/ids.ts';
import { leftOutNote, VPN_ALIASES_MAX, VPN_PEERS_MAX, soundPeers } from '../../transport/protocol/vpn.ts';
import type { LeftOutPeer, VpnMembership, VpnPeer, VpnRevision } from '../../transport/protocol/vpn.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import type { VpnBody } from '../node/messages.ts';
import type { ClusterRecord, VpnGatewayRecord, VpnMemberRecord } from '../records.ts';
import type { MessageOf } from './messages.ts';
import type { ClusterState } from './state.ts';

/**
 * Changes that are remembered for members that were away for a moment; who was away for longer is told the whole
 * VPN.
 */
export const VPN_CHANGES_MAX = 64;

/** Both sides of a pair begin to try a direct path after this, in ms: their sessions deliver the word within it. */
const TRY_IN_MS = 250;

/**
 * MTU of the VPNs: what fits through any path and a relay. Source: notes of measurements; 1,420 gains an eighth
 * where nothing is in the way.
 */
export const VPN_MTU = 1_280;

/** How often the log is told of members that ask for strangers, in ms. */
const WARN_MS = 10_000;

/** One change, as members are told of it. */
interface VpnChange {
  readonly from: VpnRevision;
  readonly to: VpnRevision;
  readonly set: readonly VpnPeer[];
  readonly removed: readonly string[];
}

/** What a cluster's actor knows of its VPN. Nothing was read at first. */
export interface ClusterVpn {
  /** Null: the rows were not read yet. */
  readonly revision: VpnRevision | null;
  /** Members and the gateway by public key. */
  readonly peers: ReadonlyMap<string, VpnPeer>;
  readonly ofNode: ReadonlyMap<NodeId, VpnPeer>;
  /** As in GatewayVpn. */
  readonly leftOut: readonly LeftOutPeer[];
  /** Oldest first. */
  readonly changes: readonly VpnChange[];
  /** Members that were connected when they asked: they are told of changes. */
  readonly listeners: ReadonlySet<NodeId>;
  /** When a member that asks for strangers was told of in the log last, in Unix ms. */
  readonly warnedAtMs: number;
}

/** Nothing read, nobody listening. One object for all. */
export const NO_VPN: ClusterVpn = {
  revision: null,
  peers: new Map(),
  ofNode: new Map(),
  leftOut: [],
  changes: [],
  listeners: new Set(),
  warnedAtMs: 0,
};

/** The rows were read: what differs from what is known becomes one change, told in one frame a member. */
export function vpnRead(
  state: ClusterState,
  record: ClusterRecord,
  { epoch, number, reading }: MessageOf<'mesh-read'>,
  domain: string,
): Step<ClusterState> {
  const { vpn } = state;
  const { peers, leftOut } = peersOf(reading.members, reading.gateway);
  const note = leftOutNote(leftOut);
  const warning: readonly Effect[] =
    note === null || note === leftOutNote(vpn.leftOut)
      ? []
      : [
          {
            type: 'warn',
            message: 'a VPN is told without those of its members whose rows are damaged',
            fields: { cluster: record.name, problem: note },
          },
        ];
  // A machine that is left out hears why: saying another key of itself puts its row right.
  const refused = leftOut.flatMap(({ node, reason }): Effect[] =>
    node === null || !vpn.listeners.has(node)
      ? []
      : [
          tellNode(node, {
            type: 'mesh-refused',
            reason: `This machine is left out of the VPN of its cluster: ${reason}`,
          }),
        ],
  );
  const set = [...peers.values()].filter((peer) => !isSame(vpn.peers.get(peer.public_key), peer));
  const removed = [...vpn.peers.keys()].filter((key) => !peers.has(key));
  if (vpn.revision?.epoch === epoch && set.length === 0 && removed.length === 0 && note === leftOutNote(vpn.leftOut))
    return refused.length === 0 ? unchanged(state) : step(state, [], refused);

  // No other cluster of this admin has this number: a node that was just moved may ask with a state of the one that it
  // left, and is told all.
  const revision = { epoch, number };
  const changes =
    vpn.revision?.epoch === epoch
      ? [...vpn.changes, { from: vpn.revision, to: revision, set, removed }].slice(-VPN_CHANGES_MAX)
      : [];
  const ofNode = new Map(
    [...peers.values()].flatMap((peer): [NodeId, VpnPeer][] => (peer.node === null ? [] : [[peer.node, peer]])),
  );
  const listeners = new Set([...vpn.listeners].filter((node) => ofNode.has(node) || !vpn.ofNode.has(node)));
  const next: ClusterVpn = { ...vpn, revision, peers, ofNode, leftOut, changes, listeners };

  const changed = new Set(set.map((peer) => peer.node));
  const [change] = changes.slice(-1);
  const told = [...listeners].flatMap((node): Effect[] => {
    if (!ofNode.has(node)) return [];
    // Its own place changed, or nothing can be told apart: the whole VPN.
    return [
      tellNode(
        node,
        change === undefined || changed.has(node)
          ? whole(next, record, node, domain)
          : {
              type: 'mesh-changed',
              from: change.from,
              to: change.to,
              set: [...change.set],
              removed: [...change.removed],
            },
      ),
    ];
  });
  const gateway: Effect = {
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
  return step({ ...state, vpn: next }, [], [...warning, ...refused, ...told, gateway]);
}

/** A member is connected: it is told what it misses, now or as soon as its row was read. */
export function vpnWanted(
  state: ClusterState,
  record: ClusterRecord,
  { node, revision }: MessageOf<'mesh-wanted'>,
  domain: string,
): Step<ClusterState> {
  const { vpn } = state;
  const listening = vpn.listeners.has(node)
    ? state
    : { ...state, vpn: { ...vpn, listeners: new Set([...vpn.listeners, node]) } };
  if (vpn.revision === null || !vpn.ofNode.has(node)) return step(listening, [], [{ type: 'read-vpn' }]);
  const changes = missed(vpn, revision);
  // A member is no peer of itself: what changed in its own place is told with the whole VPN.
  const isOwn = changes?.some(({ set }) => set.some((peer) => peer.node === node)) ?? false;
  return step(
    listening,
    [],
    changes === null || isOwn
      ? [tellNode(node, whole(vpn, record, node, domain))]
      : changes.map((change) =>
          tellNode(node, {
            type: 'mesh-changed',
            from: change.from,
            to: change.to,
            set: [...change.set],
            removed: [...change.removed],
          }),
        ),
  );
}

/** Both sides of a pair are told to try at once. One that asks for somebody else's peer is told nothing. */
export function directWanted(
  state: ClusterState,
  { node, publicKey }: MessageOf<'direct-wanted'>,
  nowMs: number,
): Step<ClusterState> {
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
  const toAsking = tellNode(node, { type: 'mesh-try', public_key: publicKey, in_ms: TRY_IN_MS });
  return step(
    state,
    [],
    asked.node === null
      ? [toAsking]
      : [toAsking, tellNode(asked.node, { type: 'mesh-try', public_key: asking.public_key, in_ms: TRY_IN_MS })],
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

function tellNode(node: NodeId, body: VpnBody): Effect {
  return { type: 'tell', told: { to: { kind: 'node', id: node }, message: { type: 'mesh-told', body } } };
}

/**
 * The gateway first: of more members than a frame holds, it is never the one that is left out, nor is it a member that
 * says it has the gateway's key.
 */
function peersOf(
  members: readonly VpnMemberRecord[],
  gateway: VpnGatewayRecord | null,
): { readonly peers: ReadonlyMap<string, VpnPeer>; readonly leftOut: readonly LeftOutPeer[] } {
  const others = members.filter(({ publicKey }) => publicKey !== gateway?.publicKey);
  const { sound, leftOut } = soundPeers([
    ...(gateway === null ? [] : [gatewayPeer(gateway)]),
    ...others.map(memberPeer),
  ]);
  return { peers: new Map(sound.slice(0, VPN_PEERS_MAX).map((peer) => [peer.public_key, peer])), leftOut };
}

function memberPeer(member: VpnMemberRecord): VpnPeer {
  const observed = member.observed === null || member.endpoints.includes(member.observed) ? [] : [member.observed];
  return {
    node: member.node,
    public_key: member.publicKey,
    ipv4: member.ipv4,
    ipv6: member.ipv6,
    endpoints: [...member.endpoints, ...observed],
    relay_region: member.relayRegion,
    aliases: member.aliases.slice(0, VPN_ALIASES_MAX),
  };
}

function gatewayPeer(gateway: VpnGatewayRecord): VpnPeer {
  return {
    node: null,
    public_key: gateway.publicKey,
    ipv4: gateway.ipv4,
    ipv6: gateway.ipv6,
    endpoints: [...gateway.endpoints],
    relay_region: gateway.relayRegion,
    aliases: [],
  };
}

function isSame(known: VpnPeer | undefined, peer: VpnPeer): boolean {
  return known !== undefined && JSON.stringify(known) === JSON.stringify(peer);
}
