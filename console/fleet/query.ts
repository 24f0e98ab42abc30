/** What somebody wants to see of the nodes, and how that stands in the address of the page. */
import { addressOf } from '../routes.ts';
import type { NodeStatus } from '../../actors/resources/node.ts';

/** All statuses, worst first: as people look for them. */
export const STATUSES: readonly NodeStatus[] = ['unreachable', 'unhealthy', 'healthy'];

/** By what nodes are told apart: filters, in the order in which they stand. */
export const SINGLE_FACETS = ['status', 'cluster', 'version', 'os', 'arch'] as const;
/** One by which a node has one value. */
export type SingleFacet = (typeof SINGLE_FACETS)[number];
/** One of them: of labels a node has several. */
export type Facet = SingleFacet | 'label';

/** Columns by which rows are sorted. */
export const SORTS = ['name', 'cluster', 'status', 'since', 'version'] as const;
/** One of them. */
export type SortField = (typeof SORTS)[number];

/** Filters and order of the list of nodes. */
export interface NodesQuery {
  /** None: all. */
  readonly statuses: readonly NodeStatus[];
  readonly cluster: string | null;
  readonly versions: readonly string[];
  readonly systems: readonly string[];
  readonly architectures: readonly string[];
  /** As `key=value`: any of the values of one key, and all of the keys. */
  readonly labels: readonly string[];
  /** Words, each of which must stand somewhere in a row. */
  readonly text: string;
  readonly sort: SortField;
  readonly isDescending: boolean;
}

/** Everything, by name. */
export const WHOLE_FLEET: NodesQuery = {
  statuses: [],
  cluster: null,
  versions: [],
  systems: [],
  architectures: [],
  labels: [],
  text: '',
  sort: 'name',
  isDescending: false,
};

/** Choices of one filter that an address holds, at most: 64 labels of 63 characters and their keys are 8 KiB. */
export const CHOICES_MAX = 64;

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
    versions: choicesOf(given, 'version'),
    systems: choicesOf(given, 'os'),
    architectures: choicesOf(given, 'arch'),
    labels: choicesOf(given, 'label').filter((pair) => pair.includes('=')),
    text: (given.get('q') ?? '').slice(0, TEXT_CHARACTERS_MAX),
    sort: field ?? WHOLE_FLEET.sort,
    isDescending: field !== undefined && sort.startsWith('-'),
  };
}

/** Sorted, each once: the same choices are the same address. */
function choicesOf(given: URLSearchParams, name: string): readonly string[] {
  const all = given.getAll(name).filter((value) => value !== '');
  return [...new Set(all)].sort().slice(0, CHOICES_MAX);
}

/** The query as the end of an address: empty for the whole fleet, and the same for the same query. */
export function searchOf(query: NodesQuery): string {
  const { statuses, cluster, text, sort, isDescending } = query;
  const all: [name: string, value: string][] = [
    ['status', STATUSES.filter((status) => statuses.includes(status)).join(',')],
    ['cluster', cluster ?? ''],
    ...query.versions.map((one): [string, string] => ['version', one]),
    ...query.systems.map((one): [string, string] => ['os', one]),
    ...query.architectures.map((one): [string, string] => ['arch', one]),
    ...query.labels.map((one): [string, string] => ['label', one]),
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
  return addressOf('node', { id });
}

/** Whether it leaves any node out. */
export function isFiltered(query: NodesQuery): boolean {
  return searchOf({ ...query, text: query.text.trim(), sort: WHOLE_FLEET.sort, isDescending: false }) !== '';
}

/** The query with this choice of a filter asked for, or no more. Of clusters one is asked for at a time. */
export function toggled(query: NodesQuery, facet: Facet, value: string): NodesQuery {
  const turned = (all: readonly string[]): readonly string[] =>
    all.includes(value) ? all.filter((one) => one !== value) : [...all, value].sort().slice(0, CHOICES_MAX);
  switch (facet) {
    case 'status':
      return { ...query, statuses: STATUSES.filter((one) => query.statuses.includes(one) !== (one === value)) };
    case 'cluster':
      return { ...query, cluster: query.cluster === value ? null : value };
    case 'version':
      return { ...query, versions: turned(query.versions) };
    case 'os':
      return { ...query, systems: turned(query.systems) };
    case 'arch':
      return { ...query, architectures: turned(query.architectures) };
    case 'label':
      return { ...query, labels: turned(query.labels) };
    default:
      return facet satisfies never;
  }
}

/** The query sorted by a column: once more turns the order round. */
export function sortedBy(query: NodesQuery, field: SortField): NodesQuery {
  return { ...query, sort: field, isDescending: query.sort === field && !query.isDescending };
}
