/** Admins by their names, and as a table. */
import { nearestOf } from '../../settings/nearest.ts';
import type { Api, Outputs } from '../service/client.ts';
import { firstRows } from '../service/pages.ts';
import { EXIT, isNotFound, Problem } from '../problem.ts';
import type { Table, Tone } from '../table/columns.ts';

/** One of all admins, as the service answers it. */
export type PeerAdmin = Outputs['get_peer_admin'];
type OwnedCluster = NonNullable<PeerAdmin['clusters']>[number];

/** Names that are compared with one that there is not. */
const NAMES_MAX = 1_000;

/** All statuses, best first. Source: docs/api.md, Resources. */
export const ADMIN_STATUSES = ['live', 'draining', 'silent', 'gone'] as const satisfies readonly PeerAdmin['status'][];

const STATUS_TONES: Readonly<Record<PeerAdmin['status'], Tone>> = {
  live: 'good',
  draining: 'warn',
  silent: 'bad',
  gone: 'faint',
};

/** What stands for a link in a table. */
const LINK_WORDS: Readonly<Record<NonNullable<PeerAdmin['link']>['state'], string>> = {
  self: 'this one',
  reached: 'reached',
  unreached: 'no',
  unknown: '?',
  other_version: 'older',
};

/** Admins: how they are, what they own and have room for, and whether the one that answers gets to them. */
export const ADMIN_TABLE: Table<PeerAdmin> = {
  id: ({ name }) => name,
  sortedBy: 'name',
  columns: [
    ['NAME', 'name', { cut: 12, sorts: 'name' }],
    ['STATUS', 'status', { tone: ({ status }) => STATUS_TONES[status] }],
    ['SINCE', 'status_since', { age: true, drop: 1 }],
    ['VERSION', 'version', { cut: 7, drop: 2 }],
    ['CLUSTERS', 'cluster_count'],
    ['NODES', 'node_count'],
    ['ROOM', 'room', { drop: 3 }],
    ['HEARD', 'last_checked_in', { age: true, drop: 4 }],
    [
      'LINK',
      ({ link }) => (link === null ? null : LINK_WORDS[link.state]),
      { drop: 5, tone: ({ link }) => (link?.state === 'unreached' ? 'bad' : null) },
    ],
    ['LINK SINCE', ({ link }) => link?.since ?? null, { wide: true, age: true }],
    ['LATENCY', ({ link }) => (link?.latency_ms == null ? null : `${link.latency_ms} ms`), { wide: true }],
    ['WHY', ({ link }) => link?.reason ?? null, { wide: true }],
    [
      'PROBLEMS',
      ({ problems }) => problems?.map(({ check, problem }) => `${check}: ${problem}`).join('; ') ?? null,
      { wide: true },
    ],
    ['CAPACITY', 'edge_node_capacity', { wide: true }],
    ['STARTED', 'started_at', { wide: true, age: true }],
    ['DRAINING', 'draining_since', { wide: true, age: true }],
    ['GROUP', 'admin_cluster_name', { wide: true }],
    ['URL', 'url', { wide: true }],
    ['PEER URL', 'peer_url', { wide: true }],
    ['LINK VERSION', 'link_version', { wide: true }],
    ['ID', 'id', { wide: true, id: true }],
  ],
};

/** What an admin owns. */
export const OWNED_TABLE: Table<OwnedCluster> = {
  id: ({ cluster_name: name }) => name,
  columns: [
    ['CLUSTER', 'cluster_name'],
    ['NODES', 'node_count'],
    ['EPOCH', 'epoch'],
    ['OWNED', 'owned_since', { age: true }],
    ['LEASE UNTIL', 'lease_until'],
  ],
};

/** What is asked about an admin. Says so when there is none of this name or id, and which one may be meant. */
export async function ofAdmin<T>(api: Api, name: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw isNotFound(error) ? await noAdmin(api, name) : error;
  }
}

/** The names of all admins. */
export async function adminNames(api: Api): Promise<readonly string[]> {
  const { rows } = await firstRows(NAMES_MAX, (page) => api.list_admins.query(page));
  return rows.map(({ name }) => name);
}

async function noAdmin(api: Api, given: string): Promise<Problem> {
  const nearest = nearestOf(given, await adminNames(api));
  return new Problem(
    `there is no admin "${given}": ${nearest === null ? 'edge admin ls shows all' : `did you mean ${nearest}?`}`,
    EXIT.notFound,
  );
}
