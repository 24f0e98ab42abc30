/**
 * Whether a node matches the filters of `list_nodes`, in memory: a live feed decides for each change, which the
 * database decides for a page.
 */
import type { Filter } from '../../actors/filters.ts';
import { matchesSelector, parseSelector, type Selector } from '../../actors/label-selector.ts';
import { versionOrder } from '../../actors/version-order.ts';
import type { NodeResource } from '../../actors/resources/node.ts';

/** True when the node matches every filter. Null fields match no condition, as in SQL. */
export function matchesNode(node: NodeResource, filters: readonly Filter[]): boolean {
  return filters.every((filter) => {
    if (filter.field === 'labels') return matchesSelector(node.labels, selectorOf(filter));
    const value = fieldOf(node, filter.field);
    if (value === null || value === undefined) return false;
    return filter.field === 'version' && filter.op !== 'eq'
      ? holds(versionOrder(String(value)), { ...filter, value: versionOrder(String(filter.value)) })
      : holds(value, filter);
  });
}

/** The same filters give the same key, in whatever order they came. */
export function filtersKey(filters: readonly Filter[]): string {
  return filters
    .map(({ field, op, value }) => JSON.stringify([field, op, typeof value === 'object' ? value.toSorted() : value]))
    .sort()
    .join();
}

/** Selectors that were read before: a feed asks with the same one at each change. */
const SELECTORS = new WeakMap<Filter, Selector>();

function selectorOf(filter: Filter): Selector {
  const known = SELECTORS.get(filter);
  if (known !== undefined) return known;
  const parsed = parseSelector(String(filter.value));
  if (!parsed.ok) throw new Error(`A selector was let in that is none: ${parsed.problem}`);
  SELECTORS.set(filter, parsed.selector);
  return parsed.selector;
}

type Comparable = string | number | boolean;

function fieldOf(node: NodeResource, field: string): Comparable | null | undefined {
  switch (field) {
    case 'node_id':
      return node.id;
    case 'has_enrollment_key':
      return node.enrollment_key_id !== null;
    case 'enrollment_key_id':
      return node.enrollment_key_id;
    case 'cluster_name':
      return node.cluster_name;
    case 'status':
      return node.status;
    case 'version':
      return node.version;
    case 'hostname':
      return node.facts?.hostname;
    case 'os':
      return node.facts?.os;
    case 'arch':
      return node.facts?.arch;
    case 'id_type':
      return node.id_type;
    case 'self_update_enabled':
      return node.self_update_enabled;
    case 'last_seen_at':
      return node.last_seen_at === null ? null : Date.parse(node.last_seen_at);
    case 'inserted_at':
      return Date.parse(node.inserted_at);
    case 'updated_at':
      return Date.parse(node.updated_at);
    default:
      return undefined;
  }
}

function holds(value: Comparable, { op, value: wanted }: Filter): boolean {
  switch (op) {
    case 'eq':
      return equal(value, wanted as Comparable);
    case 'in':
      return (wanted as readonly string[]).some((one) => equal(value, one));
    case 'gte':
      return value >= (wanted as Comparable);
    case 'lte':
      return value <= (wanted as Comparable);
    default:
      return op satisfies never;
  }
}

function equal(value: Comparable, wanted: Comparable): boolean {
  if (typeof value !== 'string' || typeof wanted !== 'string' || !wanted.includes('*')) return value === wanted;
  return wildcard(value, wanted);
}

// Piece by piece instead of a regular expression: no pattern a client sends can make it slow.
function wildcard(value: string, pattern: string): boolean {
  const pieces = pattern.split('*');
  const first = pieces[0] ?? '';
  const last = pieces.at(-1) ?? '';
  if (value.length < first.length + last.length || !value.startsWith(first) || !value.endsWith(last)) return false;
  let from = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const at = value.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return from <= value.length - last.length;
}
