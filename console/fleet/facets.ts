/** By what nodes are told apart on the list: each of these is a filter with its choices. Pure. */
import type { NodeResource } from '../../actors/resources/node.ts';
import type { Facet, NodesQuery, SingleFacet } from './query.ts';

/** What a node is by one of the filters that know one value of each; null: its machine does not say it. */
export function valueOf(node: NodeResource, facet: SingleFacet): string | null {
  switch (facet) {
    case 'status':
      return node.status;
    case 'cluster':
      return node.cluster_name;
    case 'version':
      return node.version;
    case 'os':
      return node.facts?.os ?? null;
    case 'arch':
      return node.facts?.arch ?? null;
    default:
      return facet satisfies never;
  }
}

/** What is asked for by a filter; none: all. */
export function askedOf(query: NodesQuery, facet: Facet): readonly string[] {
  switch (facet) {
    case 'status':
      return query.statuses;
    case 'cluster':
      return query.cluster === null ? [] : [query.cluster];
    case 'version':
      return query.versions;
    case 'os':
      return query.systems;
    case 'arch':
      return query.architectures;
    case 'label':
      return query.labels;
    default:
      return facet satisfies never;
  }
}

/** The key of a label that stands as `key=value`: no key has the sign. */
export function keyOfPair(pair: string): string {
  const at = pair.indexOf('=');
  return at < 0 ? pair : pair.slice(0, at);
}

/** Labels by their keys: any of the values of each key, and all of the keys. */
export function byKey(pairs: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const keys = new Map<string, string[]>();
  for (const pair of pairs) {
    const known = keys.get(keyOfPair(pair));
    if (known === undefined) keys.set(keyOfPair(pair), [pair]);
    else known.push(pair);
  }
  return keys;
}

/** The same as the API has it: `env in (lab,prod),gpu=yes`. */
export function selectorOf(pairs: readonly string[]): string {
  return [...byKey(pairs)]
    .map(([key, ofKey]) => {
      const values = ofKey.map((pair) => pair.slice(key.length + 1));
      return values.length === 1 ? `${key}=${values[0] ?? ''}` : `${key} in (${values.join(',')})`;
    })
    .join(',');
}

/** What was made of a row before: it is another object once it changes. */
const PAIRS = new WeakMap<NodeResource, readonly string[]>();

/** Its labels, as `key=value`. */
export function pairsOf(node: NodeResource): readonly string[] {
  const known = PAIRS.get(node);
  if (known !== undefined) return known;
  const pairs = Object.entries(node.labels).map(([key, value]) => `${key}=${value}`);
  PAIRS.set(node, pairs);
  return pairs;
}
