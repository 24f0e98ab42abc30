/**
 * The rows that a query shows, in its order, and how many each choice of its filters would show. Pure. Made once of all
 * nodes, and from then on of what changed: a pass over 100,000 rows takes longer than a frame.
 */
import { askedOf, byKey, keyOfPair, valuesOf } from './facets.ts';
import { FACETS, STATUSES, type Facet, type NodesQuery } from './query.ts';
import { orderOf, reordered, type Order } from './rows-order.ts';
import type { RowChange } from './rows.ts';
import type { NodeResource, NodeStatus } from '../../actors/resources/node.ts';

/** What is to be seen of the nodes. */
export interface NodesView {
  readonly rows: readonly NodeResource[];
  /** By filter and value, of all that the other filters let through. */
  readonly counts: Readonly<Record<Facet, ReadonlyMap<string, number>>>;
  readonly total: number;
}

/** Above this share of the rows, what changed costs more than looking at all of them. */
const CHANGED_SHARE_MAX = 1 / 8;

/** What one query shows, kept as nodes change. */
export class NodesIndex implements NodesView {
  readonly #query: NodesQuery;
  readonly #words: readonly string[];
  readonly #order: Order;
  readonly #labels: ReadonlyMap<string, readonly string[]>;
  #rows: readonly NodeResource[] = [];
  #counts = emptyCounts();
  #total = 0;

  constructor(query: NodesQuery, nodes: Iterable<NodeResource>) {
    this.#query = query;
    this.#words = wordsOf(query.text);
    this.#order = orderOf(query);
    this.#labels = byKey(query.labels);
    this.renew(nodes);
  }

  get rows(): readonly NodeResource[] {
    return this.#rows;
  }

  get counts(): NodesView['counts'] {
    return this.#counts;
  }

  get total(): number {
    return this.#total;
  }

  /** Looks at all nodes again. */
  renew(nodes: Iterable<NodeResource>): void {
    this.#counts = emptyCounts();
    this.#total = 0;
    const rows: NodeResource[] = [];
    for (const node of nodes) if (this.#counted(node, 1)) rows.push(node);
    this.#rows = rows.sort(this.#order);
  }

  /** Takes what changed. False: it is so much that all nodes are to be looked at again. */
  change(changes: readonly RowChange[]): boolean {
    if (changes.length > this.#total * CHANGED_SHARE_MAX) return false;
    const ends = new Map<string, { readonly before: NodeResource | undefined; after: NodeResource | undefined }>();
    for (const { before, after } of changes) {
      const id = (before ?? after)?.id ?? '';
      const known = ends.get(id);
      if (known === undefined) ends.set(id, { before, after });
      else known.after = after;
    }
    const gone: NodeResource[] = [];
    const come: NodeResource[] = [];
    for (const { before, after } of ends.values()) {
      if (before !== undefined && this.#counted(before, -1)) gone.push(before);
      if (after !== undefined && this.#counted(after, 1)) come.push(after);
    }
    this.#rows = reordered(this.#rows, { gone, come, order: this.#order });
    return true;
  }

  /** Counts a node in, or out again, and says whether it is one of the rows. */
  #counted(node: NodeResource, by: 1 | -1): boolean {
    this.#total += by;
    if (!hasWords(node, this.#words)) return false;
    const failed = FACETS.filter((facet) => !this.#passes(node, facet));
    if (failed.length > 1) return false;
    for (const facet of failed.length === 0 ? FACETS : failed)
      if (facet === 'label') this.#countLabels(node, by);
      else for (const value of valuesOf(node, facet)) add(this.#counts[facet], value, by);
    return failed.length === 0;
  }

  #passes(node: NodeResource, facet: Facet): boolean {
    if (facet === 'label') return this.#failedKeys(node).length === 0;
    const asked = askedOf(this.#query, facet);
    return asked.length === 0 || valuesOf(node, facet).some((value) => asked.includes(value));
  }

  #failedKeys(node: NodeResource): readonly string[] {
    if (this.#labels.size === 0) return [];
    const pairs = valuesOf(node, 'label');
    return [...this.#labels].filter(([, wanted]) => !pairs.some((pair) => wanted.includes(pair))).map(([key]) => key);
  }

  /** Another value of one key would show it, if that key alone leaves it out. */
  #countLabels(node: NodeResource, by: 1 | -1): void {
    const failed = this.#failedKeys(node);
    if (failed.length > 1) return;
    for (const pair of valuesOf(node, 'label'))
      if (failed.length === 0 || keyOfPair(pair) === failed[0]) add(this.#counts.label, pair, by);
  }
}

function emptyCounts(): Record<Facet, Map<string, number>> {
  return {
    status: new Map(),
    cluster: new Map(),
    version: new Map(),
    os: new Map(),
    arch: new Map(),
    label: new Map(),
  };
}

function add(counts: Map<string, number>, value: string, by: 1 | -1): void {
  const count = (counts.get(value) ?? 0) + by;
  if (count === 0) counts.delete(value);
  else counts.set(value, count);
}

/** How many there are of each status, and how many came to it within this time, in ms. */
export function statusCounts(
  nodes: Iterable<NodeResource>,
  nowMs: number,
  lastMs: number,
): Readonly<Record<NodeStatus, { readonly count: number; readonly recent: number }>> {
  const counts = Object.fromEntries(STATUSES.map((status) => [status, { count: 0, recent: 0 }])) as Record<
    NodeStatus,
    { count: number; recent: number }
  >;
  // times of the service are UTC in one form, which is read as text: parsing 100,000 takes longer than a frame
  const from = new Date(nowMs - lastMs).toISOString();
  for (const { status, status_since: since } of nodes) {
    const one = counts[status];
    one.count += 1;
    if (since > from) one.recent += 1;
  }
  return counts;
}

/** Where the words of a query stand in a row that shows none of them itself: why it is in the list. */
export function matchedBy(node: NodeResource, text: string): string | null {
  const shown = `${node.name}\n${node.cluster_name}\n${node.version}\n${node.status_reason ?? ''}`.toLowerCase();
  const hidden = wordsOf(text).find((word) => !shown.includes(word));
  return hidden === undefined ? null : (partsOf(node).find((part) => part.toLowerCase().includes(hidden)) ?? null);
}

function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== '');
}

/** Everything of a node in which words are looked for. */
function partsOf(node: NodeResource): readonly string[] {
  const { facts } = node;
  return [
    node.name,
    node.cluster_name,
    node.status,
    node.version,
    node.status_reason ?? '',
    node.id,
    node.vpn_hostname,
    ...node.aliases.map(({ name }) => name),
    ...Object.entries(node.labels).map(([key, value]) => `${key}=${value}`),
    ...(facts === null ? [] : [facts.hostname, facts.os_name ?? facts.os, facts.kernel, facts.arch]),
  ];
}

/** What was made of a row before: it is another object once it changes. */
const LOWER = new WeakMap<NodeResource, string>();

function hasWords(node: NodeResource, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const known = LOWER.get(node);
  const text = known ?? partsOf(node).join('\n').toLowerCase();
  if (known === undefined) LOWER.set(node, text);
  return words.every((word) => text.includes(word));
}
