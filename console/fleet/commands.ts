/** What is on the page, for a terminal: as a command and as a request. Pure. */
import { curlLine, quoted } from '../shell-words.ts';
import { selectorOf } from './facets.ts';
import type { NodesQuery, SortField } from './query.ts';

/** Of the columns of the page those by which the API sorts. */
const API_SORTS: Partial<Record<SortField, string>> = { cluster: 'cluster_name', status: 'status', version: 'version' };

/** What of a query does not reach its lines. */
export interface LeftOut {
  readonly words: boolean;
  readonly versions: boolean;
  /** Of the request alone. */
  readonly order: boolean;
}

/** Rows of one answer: as many as a page of a list has at most. */
const PAGE_SIZE = 100;

/** `edge node ls` with the same filters and order. Versions, and the words of the search, are not among them. */
export function commandOf(query: NodesQuery): string {
  const { statuses, cluster, systems, architectures, labels, sort, isDescending } = query;
  return [
    'edge node ls',
    ...(statuses.length === 0 ? [] : ['-s', quoted(statuses.join(','))]),
    ...(cluster === null ? [] : ['-c', quoted(cluster)]),
    ...(systems.length === 0 ? [] : ['--os', quoted(systems.join(','))]),
    ...(architectures.length === 0 ? [] : ['--arch', quoted(architectures.join(','))]),
    ...(labels.length === 0 ? [] : ['-l', quoted(selectorOf(labels))]),
    `--sort ${isDescending ? '-' : ''}${sort}`,
  ].join(' ');
}

/** What stands in neither line, or not in both: a page says so beside them. */
export function leftOutOf({ text, versions, sort }: NodesQuery): LeftOut {
  return { words: text.trim() !== '', versions: versions.length > 0, order: API_SORTS[sort] === undefined };
}

/** The same as a request to the API at this origin. */
export function requestOf(query: NodesQuery, origin: string): string {
  const { statuses, cluster, versions, systems, architectures, labels, sort, isDescending } = query;
  const by = API_SORTS[sort];
  const parameters = new URLSearchParams([
    ...(statuses.length === 0 ? [] : [['status__in', statuses.join(',')]]),
    ...(cluster === null ? [] : [['cluster_name', cluster]]),
    ...(versions.length === 1 ? [['version', versions[0] ?? '']] : []),
    ...(systems.length === 0 ? [] : [['os__in', systems.join(',')]]),
    ...(architectures.length === 0 ? [] : [['arch__in', architectures.join(',')]]),
    ...(labels.length === 0 ? [] : [['labels', selectorOf(labels)]]),
    ...(by === undefined ? [] : [['sort', `${isDescending ? '-' : ''}${by}`]]),
    ['page_size', String(PAGE_SIZE)],
  ] as [string, string][]);
  return curlLine(origin, `/nodes?${parameters.toString()}`);
}
