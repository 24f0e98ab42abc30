/** What somebody wants to see of the nodes, and how that stands in the address of the page. */
import { addressOf, BASE } from '../routes.ts';
import type { NodeStatus } from '../../actors/resources/node.ts';

/** All statuses, worst first: as people look for them. */
export const STATUSES: readonly NodeStatus[] = ['unreachable', 'unhealthy', 'healthy'];

/** Columns by which rows are sorted. */
export const SORTS = ['name', 'cluster', 'status', 'since', 'version'] as const;
/** One of them. */
export type SortField = (typeof SORTS)[number];

/** Filters and order of the list of nodes. */
export interface NodesQuery {
  /** None: all. */
  readonly statuses: readonly NodeStatus[];
  readonly cluster: string | null;
  /** Words, each of which must stand somewhere in a row. */
  readonly text: string;
  readonly sort: SortField;
  readonly isDescending: boolean;
}

/** Everything, by name. */
export const WHOLE_FLEET: NodesQuery = { statuses: [], cluster: null, text: '', sort: 'name', isDescending: false };

/** Longest text that is looked for, in characters: what somebody types, not what a link could hold. */
export const TEXT_CHARACTERS_MAX = 200;

/** The query of an address. What is no filter, or no value of one, is left out: old links still lead somewhere. */
export function queryOf(search: string): NodesQuery {
  const given = new URLSearchParams(search);
  const statuses = (given.get('status') ?? '').split(',');
  const sort = given.get('sort') ?? '';
  const field = SORTS.find((one) => one === sort.replace(/^-/u, ''));
  return {
    statuses: STATUSES.filter((status) => statuses.includes(status)),
    cluster: given.get('cluster') || null,
    text: (given.get('q') ?? '').slice(0, TEXT_CHARACTERS_MAX),
    sort: field ?? WHOLE_FLEET.sort,
    isDescending: field !== undefined && sort.startsWith('-'),
  };
}

/** The query as the end of an address: empty for the whole fleet, and the same for the same query. */
export function searchOf({ statuses, cluster, text, sort, isDescending }: NodesQuery): string {
  const all: [name: string, value: string][] = [
    ['status', STATUSES.filter((status) => statuses.includes(status)).join(',')],
    ['cluster', cluster ?? ''],
    ['q', text],
    ['sort', sort === WHOLE_FLEET.sort && !isDescending ? '' : `${isDescending ? '-' : ''}${sort}`],
  ];
  const pairs = all.filter(([, value]) => value !== '');
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

/** Where the list is that it asks for. */
export function nodesAddress(query: NodesQuery): string {
  return addressOf('nodes', { search: searchOf(query) });
}

/** Where one node is. */
export function nodeAddress(id: string): string {
  return `${BASE}/nodes/${encodeURIComponent(id)}`;
}

/** Whether it leaves any node out. */
export function isFiltered({ statuses, cluster, text }: NodesQuery): boolean {
  return statuses.length > 0 || cluster !== null || text.trim() !== '';
}

/** The query with this status asked for, or no more. */
export function toggled(query: NodesQuery, status: NodeStatus): NodesQuery {
  const { statuses } = query;
  const isAsked = statuses.includes(status);
  return {
    ...query,
    statuses: STATUSES.filter((one) => (one === status ? !isAsked : statuses.includes(one))),
  };
}

/** The query sorted by a column: once more turns the order round. */
export function sortedBy(query: NodesQuery, field: SortField): NodesQuery {
  return { ...query, sort: field, isDescending: query.sort === field && !query.isDescending };
}
