/** The network of a cluster as its owner holds it: who is in it, what changed lately, and who is told. Pure. */
import type { NodeId } from '../../transport/protocol/ids.ts';
import { leftOutNote, MESH_ALIASES_MAX, MESH_PEERS_MAX, soundPeers } from '../../transport/protocol/mesh.ts';
import type { LeftOutPeer, MeshNetwork, MeshPeer, MeshRevision } from '../../transport/protocol/mesh.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import type { MeshBody } from '../node/messages.ts';
import type { ClusterRecord, MeshGatewayRecord, MeshMemberRecord } from '../records.ts';
import type { MessageOf } from './messages.ts';
import type { ClusterState } from './state.ts';

/**
 * Changes that are remembered for members that were away for a moment; who was away for longer is told the whole
 * network.
 */
export const MESH_CHANGES_MAX = 64;

/** Both sides of a pair begin to try a direct path after this, in ms: their sessions deliver the word within it. */
const TRY_IN_MS = 250;

/**
 * MTU of the networks: what fits through any path and a relay. Source: notes of measurements; 1,420 gains an eighth
 * where nothing is in the way.
 */
export const MESH_MTU = 1_280;

/** How often the log is told of members that ask for strangers, in ms. */
const WARN_MS = 10_000;

/** One change, as members are told of it. */
interface MeshChange {
  readonly from: MeshRevision;
  readonly to: MeshRevision;
  readonly set: readonly MeshPeer[];
  readonly removed: readonly string[];
}

/** What a cluster's actor knows of its network. Nothing was read at first. */
export interface ClusterMesh {
  /** Null: the rows were not read yet. */
  readonly revision: MeshRevision | null;
  /** Members and the gateway by public key. */
  readonly peers: ReadonlyMap<string, MeshPeer>;
  readonly ofNode: ReadonlyMap<NodeId, MeshPeer>;
  /** As in GatewayMesh. */
  readonly leftOut: readonly LeftOutPeer[];
  /** Oldest first. */
  readonly changes: readonly MeshChange[];
  /** Members that were connected when they asked: they are told of changes. */
  readonly listeners: ReadonlySet<NodeId>;
  /** When a member that asks for strangers was told of in the log last, in Unix ms. */
  readonly warnedAtMs: number;
}

/** Nothing read, nobody listening. One object for all. */
export const NO_MESH: ClusterMesh = {
  revision: null,
  peers: new Map(),
  ofNode: new Map(),
  leftOut: [],
  changes: [],
  listeners: new Set(),
  warnedAtMs: 0,
};

/** The rows were read: what differs from what is known becomes one change, told in one frame a member. */
export function meshRead(
  state: ClusterState,
  record: ClusterRecord,
  { epoch, number, reading }: MessageOf<'mesh-read'>,
  domain: string,
): Step<ClusterState> {
  const { mesh } = state;
  const { peers, leftOut } = peersOf(reading.members, reading.gateway);
  const note = leftOutNote(leftOut);
  const warning: readonly Effect[] =
    note === null || note === leftOutNote(mesh.leftOut)
      ? []
      : [
          {
            type: 'warn',
            message: 'a network is told without those of its members whose rows are damaged',
            fields: { cluster: record.name, problem: note },
          },
        ];
  // A machine that is left out hears why: saying another key of itself puts its row right.
  const refused = leftOut.flatMap(({ node, reason }): Effect[] =>
    node === null || !mesh.listeners.has(node)
      ? []
      : [
          tellNode(node, {
            type: 'mesh-refused',
            reason: `This machine is left out of the network of its cluster: ${reason}`,
          }),
        ],
  );
  const set = [...peers.values()].filter((peer) => !isSame(mesh.peers.get(peer.public_key), peer));
  const removed = [...mesh.peers.keys()].filter((key) => !peers.has(key));
  if (mesh.revision?.epoch === epoch && set.length === 0 && removed.length === 0 && note === leftOutNote(mesh.leftOut))
    return refused.length === 0 ? unchanged(state) : step(state, [], refused);

  // No other cluster of this admin has this number: a node that was just moved may ask with a state of the one that it
  // left, and is told all.
  const revision = { epoch, number };
  const changes =
    mesh.revision?.epoch === epoch
      ? [...mesh.changes, { from: mesh.revision, to: revision, set, removed }].slice(-MESH_CHANGES_MAX)
      : [];
  const ofNode = new Map(
    [...peers.values()].flatMap((peer): [NodeId, MeshPeer][] => (peer.node === null ? [] : [[peer.node, peer]])),
  );
  const listeners = new Set([...mesh.listeners].filter((node) => ofNode.has(node) || !mesh.ofNode.has(node)));
  const next: ClusterMesh = { ...mesh, revision, peers, ofNode, leftOut, changes, listeners };

  const changed = new Set(set.map((peer) => peer.node));
  const [change] = changes.slice(-1);
  const told = [...listeners].flatMap((node): Effect[] => {
    if (!ofNode.has(node)) return [];
    // Its own place changed, or nothing can be told apart: the whole network.
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
    mesh: {
      cluster: record.id,
      clusterName: record.name,
      ipv4Range: record.ipv4Range,
      ipv6Range: record.ipv6Range,
      peers,
      leftOut,
    },
  };
  return step({ ...state, mesh: next }, [], [...warning, ...refused, ...told, gateway]);
}

/** A member is connected: it is told what it misses, now or as soon as its row was read. */
export function meshWanted(
  state: ClusterState,
  record: ClusterRecord,
  { node, revision }: MessageOf<'mesh-wanted'>,
  domain: string,
): Step<ClusterState> {
  const { mesh } = state;
  const listening = mesh.listeners.has(node)
    ? state
    : { ...state, mesh: { ...mesh, listeners: new Set([...mesh.listeners, node]) } };
  if (mesh.revision === null || !mesh.ofNode.has(node)) return step(listening, [], [{ type: 'read-mesh' }]);
  const changes = missed(mesh, revision);
  // A member is no peer of itself: what changed in its own place is told with the whole network.
  const isOwn = changes?.some(({ set }) => set.some((peer) => peer.node === node)) ?? false;
  return step(
    listening,
    [],
    changes === null || isOwn
      ? [tellNode(node, whole(mesh, record, node, domain))]
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
  const [asking, asked] = [state.mesh.ofNode.get(node), state.mesh.peers.get(publicKey)];
  if (asking === undefined || asked === undefined) {
    // one that asks without end does not fill the log
    if (Math.abs(nowMs - state.mesh.warnedAtMs) < WARN_MS) return unchanged(state);
    return step(
      { ...state, mesh: { ...state.mesh, warnedAtMs: nowMs } },
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
function missed(mesh: ClusterMesh, held: MeshRevision | null): readonly MeshChange[] | null {
  if (held === null) return null;
  if (isRevision(held, mesh.revision)) return [];
  const first = mesh.changes.findIndex(({ from }) => isRevision(from, held));
  return first === -1 ? null : mesh.changes.slice(first);
}

function isRevision(one: MeshRevision, other: MeshRevision | null): boolean {
  return other !== null && one.epoch === other.epoch && one.number === other.number;
}

function whole(mesh: ClusterMesh, record: ClusterRecord, node: NodeId, domain: string): MeshBody {
  const own = mesh.ofNode.get(node);
  if (own === undefined || mesh.revision === null)
    return { type: 'mesh-refused', reason: 'This machine is not in the network of its cluster' };
  const network: MeshNetwork = {
    cluster_name: record.name,
    domain: `${record.name}.${domain}`,
    public_key: own.public_key,
    ipv4: own.ipv4,
    ipv6: own.ipv6,
    ipv4_range: record.ipv4Range,
    ipv6_range: record.ipv6Range,
    mtu: MESH_MTU,
    aliases: own.aliases,
  };
  return {
    type: 'mesh-network',
    revision: mesh.revision,
    network,
    peers: [...mesh.peers.values()].filter((peer) => peer !== own),
  };
}

function tellNode(node: NodeId, body: MeshBody): Effect {
  return { type: 'tell', told: { to: { kind: 'node', id: node }, message: { type: 'mesh-told', body } } };
}

/**
 * The gateway first: of more members than a frame holds, it is never the one that is left out, nor is it a member that
 * says it has the gateway's key.
 */
function peersOf(
  members: readonly MeshMemberRecord[],
  gateway: MeshGatewayRecord | null,
): { readonly peers: ReadonlyMap<string, MeshPeer>; readonly leftOut: readonly LeftOutPeer[] } {
  const others = members.filter(({ publicKey }) => publicKey !== gateway?.publicKey);
  const { sound, leftOut } = soundPeers([
    ...(gateway === null ? [] : [gatewayPeer(gateway)]),
    ...others.map(memberPeer),
  ]);
  return { peers: new Map(sound.slice(0, MESH_PEERS_MAX).map((peer) => [peer.public_key, peer])), leftOut };
}

function memberPeer(member: MeshMemberRecord): MeshPeer {
  const observed = member.observed === null || member.endpoints.includes(member.observed) ? [] : [member.observed];
  return {
    node: member.node,
    public_key: member.publicKey,
    ipv4: member.ipv4,
    ipv6: member.ipv6,
    endpoints: [...member.endpoints, ...observed],
    relay_region: member.relayRegion,
    aliases: member.aliases.slice(0, MESH_ALIASES_MAX),
  };
}

function gatewayPeer(gateway: MeshGatewayRecord): MeshPeer {
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

function isSame(known: MeshPeer | undefined, peer: MeshPeer): boolean {
  return known !== undefined && JSON.stringify(known) === JSON.stringify(peer);
}
