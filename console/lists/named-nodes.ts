/** Nodes by the names that people know, for lists that have their ids alone. */
import type { Live } from '../live.ts';

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/iu;

/** A node, as far as a list tells of it. */
export interface NamedNode {
  readonly name: string;
  readonly cluster: string;
}

/** Those of one page of a list, by their ids. */
export async function namesOf(api: Live['api'], ids: readonly string[]): Promise<ReadonlyMap<string, NamedNode>> {
  const asked = [...new Set(ids)];
  if (asked.length === 0) return new Map();
  const { data } = await api.list_nodes.query({ node_id__in: asked, page_size: asked.length });
  return new Map(data.map(({ id, name, cluster_name: cluster }) => [id, { name, cluster }]));
}

/** The ids of those that are called so: by id, alias, or the name of the machine. Two: there are several. */
export async function idsOf(api: Live['api'], name: string): Promise<readonly string[]> {
  if (UUID.test(name)) return [name];
  // a wildcard would be some that nobody meant
  if (name === '' || name.includes('*')) return [];
  const [aliases, nodes] = await Promise.all([
    api.list_aliases.query({ name, page_size: 2 }),
    api.list_nodes.query({ hostname: name, page_size: 2 }),
  ]);
  const byAlias = [...new Set(aliases.data.map(({ node_id: id }) => id))];
  return byAlias.length > 0 ? byAlias : nodes.data.map(({ id }) => id);
}
