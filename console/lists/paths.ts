/** Paths between members of a VPN as a table. Pure. */
import type {
  ClusterPathsResource,
  MemberPath,
  NodePathsResource,
  PathMember,
  PeerPath,
} from '../../actors/resources/cluster-paths.ts';

/** Members of whom each pair is drawn; of more each row counts. */
export const MATRIX_MEMBERS_MAX = 50;

/** A pair: what the first one says of its way to the second. */
export type PathCell = { readonly kind: 'self' | 'unknown' } | { readonly kind: 'known'; readonly path: MemberPath };

/** A row: to every member in their order, and to the gateway. */
export interface PathRow {
  readonly member: PathMember;
  readonly cells: readonly PathCell[];
  readonly gateway: PathCell;
}

/** Members that are drawn, each with its row; `isWhole`: all of the cluster are among them. */
export interface PathMatrix {
  readonly rows: readonly PathRow[];
  readonly isWhole: boolean;
  /** Of them, those whose paths are not known. */
  readonly silent: number;
}

/** By the names of members: those that are in no VPN stand there too, as nobody reaches them. */
export function matrixOf({ members, member_count: count }: ClusterPathsResource): PathMatrix {
  const sorted = members.toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
  const rows = sorted.map((member): PathRow => {
    const known = new Map(member.paths.map((path) => [path.node_id, path]));
    const cellTo = (to: string | null): PathCell => {
      const path = known.get(to);
      return path === undefined ? { kind: 'unknown' } : { kind: 'known', path };
    };
    return {
      member,
      cells: sorted.map(({ node_id: to }) => (to === member.node_id ? { kind: 'self' } : cellTo(to))),
      gateway: cellTo(null),
    };
  });
  return {
    rows,
    isWhole: count <= Math.min(MATRIX_MEMBERS_MAX, members.length),
    silent: members.filter(({ problem }) => problem !== null).length,
  };
}

/** Peers of one member that are seen at once; the others stand behind one line. */
export const PEERS_SEEN_MAX = 20;

/** What is worst first. */
const WORST_FIRST: readonly PeerPath['path'][] = ['none', 'relayed', 'direct'];

/** Peers of one member: what is wrong is seen first. */
export interface SeenPeers {
  readonly seen: readonly PeerPath[];
  readonly more: readonly PeerPath[];
  readonly counts: Readonly<Record<PeerPath['path'], number>>;
}

/** The gateway first, then by how they are reached, else as they come. */
export function peersOf({ paths }: Pick<NodePathsResource, 'paths'>): SeenPeers {
  const gateways = paths.filter(({ node_id: id }) => id === null);
  const nodes = paths.filter(({ node_id: id }) => id !== null);
  const of = (path: PeerPath['path']): readonly PeerPath[] => nodes.filter((one) => one.path === path);
  const sorted = [...gateways, ...WORST_FIRST.flatMap(of)];
  const count = (path: PeerPath['path']): number => paths.filter((one) => one.path === path).length;
  return {
    seen: sorted.slice(0, PEERS_SEEN_MAX),
    more: sorted.slice(PEERS_SEEN_MAX),
    counts: { direct: count('direct'), relayed: count('relayed'), none: count('none') },
  };
}
