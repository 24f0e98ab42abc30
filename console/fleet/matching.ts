/**
 * Why a node is in the list: in which words of it what was looked for stands, and which choice of a filter it is. Pure.
 */
import type { NodeResource } from '../../actors/resources/node.ts';
import type { ColumnName } from './columns.ts';
import { askedOf, byKey, pairsOf, valueOf } from './facets.ts';
import { SINGLE_FACETS, type NodesQuery } from './query.ts';

/** The words of a search: each must stand somewhere. */
export function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== '');
}

/** What was made of a row before: it is another object once it changes. */
const LOWER = new WeakMap<NodeResource, string>();

/** Whether all words stand somewhere in it. */
export function hasWords(node: NodeResource, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const known = LOWER.get(node);
  const text = known ?? partsOf(node).join('\n').toLowerCase();
  if (known === undefined) LOWER.set(node, text);
  return words.every((word) => text.includes(word));
}

/**
 * Why it is in the list, where its row does not show it: what a word of the search was found in, and of filters with
 * more than one choice those that it is. `drawn`: the columns that are seen. A filter of one choice says it itself.
 */
export function matchedBy(node: NodeResource, query: NodesQuery, drawn: readonly string[]): readonly string[] {
  const seen = drawn.map((column) => SHOWN[column as ColumnName | 'name']?.(node) ?? '').join('\n');
  const shown = seen.toLowerCase();
  const parts = partsOf(node);
  const found = wordsOf(query.text)
    .filter((word) => !shown.includes(word))
    .map((word) => parts.find((part) => part.toLowerCase().includes(word)) ?? '');
  const single = SINGLE_FACETS.filter((facet) => !drawn.includes(facet) && askedOf(query, facet).length > 1).map(
    (facet) => valueOf(node, facet) ?? '',
  );
  const labels = drawn.includes('labels')
    ? []
    : [...byKey(query.labels).values()]
        .filter((wanted) => wanted.length > 1)
        .flatMap((wanted) => pairsOf(node).filter((pair) => wanted.includes(pair)));
  return [...new Set([...found, ...single, ...labels])].filter((reason) => reason !== '');
}

/** What a column shows of a node, as far as words are looked for in it. */
const SHOWN: Readonly<Partial<Record<ColumnName | 'name', (node: NodeResource) => string | null | undefined>>> = {
  name: ({ name }) => name,
  status: ({ status }) => status,
  cluster: ({ cluster_name: cluster }) => cluster,
  version: ({ version }) => version,
  labels: (node) => pairsOf(node).join('\n'),
  aliases: ({ aliases }) => aliases.map(({ name }) => name).join('\n'),
  os: ({ facts }) => facts?.os,
  arch: ({ facts }) => facts?.arch,
  id: ({ id }) => id.slice(0, 8),
  why: ({ status_reason: reason }) => reason,
};

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
    ...pairsOf(node),
    ...(facts === null ? [] : [facts.hostname, facts.os_name ?? facts.os, facts.kernel, facts.arch]),
  ];
}
