/**
 * The rows that a query shows, in its order, and how many each choice of its filters would show. Pure. Made once of all
 * nodes, and from then on of what changed: a pass over 100,000 rows takes longer than a frame.
 */
import { askedOf, byKey, keyOfPair, pairsOf, valueOf } from './facets.ts';
import { SINGLE_FACETS, type Facet, type NodesQuery, type SingleFacet } from './query.ts';
import { hasWords, wordsOf } from './matching.ts';
import { ordered, orderOf, reordered, type Order } from './rows-order.ts';
import type { RowChange } from './rows.ts';
import type { NodeResource } from '../../actors/resources/node.ts';

/**
 * What is to be seen of the nodes, without the changes that {@link NodesIndex} takes: components draw and change
 * nothing.
 */
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
  readonly #asked: readonly (readonly [facet: SingleFacet, values: readonly string[]])[];
  #rows: readonly NodeResource[] = [];
  #counts = emptyCounts();
  #total = 0;

  constructor(query: NodesQuery, nodes: Iterable<NodeResource>) {
    this.#query = query;
    this.#words = wordsOf(query.text);
    this.#order = orderOf(query);
    this.#labels = byKey(query.labels);
    this.#asked = SINGLE_FACETS.map((facet): [SingleFacet, readonly string[]] => [facet, askedOf(query, facet)]).filter(
      ([, values]) => values.length > 0,
    );
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
    this.#rows = ordered(rows, this.#query);
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
    let failed: Facet | null = null;
    for (const [facet, values] of this.#asked) {
      const value = valueOf(node, facet);
      if (value !== null && values.includes(value)) continue;
      if (failed !== null) return false;
      failed = facet;
    }
    const keys = this.#failedKeys(node);
    if (failed !== null && keys.length > 0) return false;
    if (failed === null) this.#countLabels(node, keys, by);
    if (keys.length > 0) return false;
    for (const facet of SINGLE_FACETS) if (failed === null || failed === facet) this.#countValue(node, facet, by);
    return failed === null;
  }

  #countValue(node: NodeResource, facet: SingleFacet, by: 1 | -1): void {
    const value = valueOf(node, facet);
    if (value !== null) add(this.#counts[facet], value, by);
  }

  #failedKeys(node: NodeResource): readonly string[] {
    if (this.#labels.size === 0) return NONE;
    const pairs = pairsOf(node);
    return [...this.#labels].filter(([, wanted]) => !pairs.some((pair) => wanted.includes(pair))).map(([key]) => key);
  }

  /** Another value of one key would show it, if that key alone leaves it out. */
  #countLabels(node: NodeResource, failed: readonly string[], by: 1 | -1): void {
    if (failed.length > 1) return;
    for (const pair of pairsOf(node))
      if (failed.length === 0 || keyOfPair(pair) === failed[0]) add(this.#counts.label, pair, by);
  }
}

const NONE: readonly string[] = [];

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

/**
 * The nodes that came to their status last, the latest first: a few of many, so that none are sorted that nobody sees.
 */
export function latestOf(nodes: Iterable<NodeResource>, max: number): readonly NodeResource[] {
  const latest: NodeResource[] = [];
  for (const node of nodes) {
    // read as text: parsing 100,000 times takes longer than a frame
    const at = latest.findIndex(({ status_since: since }) => since < node.status_since);
    if (at >= 0) latest.splice(at, 0, node);
    else if (latest.length < max) latest.push(node);
    if (latest.length > max) latest.pop();
  }
  return latest;
}
