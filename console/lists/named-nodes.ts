/** Nodes by the names that people know, for lists that have their ids alone. */
import type { Api } from '../../api/client/api.ts';

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/iu;

/** A node, as far as a list tells of it. */
export interface NamedNode {
  readonly name: string;
  readonly cluster: string;
}

/** Those of one page of a list, by their ids. */
export async function namesOf(api: Api, ids: readonly string[]): Promise<ReadonlyMap<string, NamedNode>> {
  const asked = [...new Set(ids)];
  if (asked.length === 0) return new Map();
  const { data } = await api.list_nodes.query({ node_id__in: asked, page_size: asked.length });
  return new Map(data.map(({ id, name, cluster_name: cluster }) => [id, { name, cluster }]));
}

/** Whether it is the id of a node, and no name. */
export function isNodeId(text: string): boolean {
  return UUID.test(text);
}

/** Names, besides ids, that are looked up for one form; and how many at a time. */
export const LOOKED_UP_NAMES_MAX = 100;
const LOOKED_UP_AT_ONCE = 8;

/** Names of nodes with what they mean, or the first that means nothing, or several. */
export type Named =
  | { readonly ids: readonly string[] }
  | { readonly unknown: string }
  | { readonly several: string }
  | { readonly tooMany: number };

/** The ids of all that are called so, each once, in their order. Rejects where the service cannot be asked. */
export async function nodesNamed(
  names: readonly string[],
  idsBy: (name: string) => Promise<readonly string[]>,
): Promise<Named> {
  const sought = names.filter((name) => !isNodeId(name));
  if (sought.length > LOOKED_UP_NAMES_MAX) return { tooMany: sought.length };
  const found = new Map<string, string>();
  for (let first = 0; first < sought.length; first += LOOKED_UP_AT_ONCE) {
    const some = sought.slice(first, first + LOOKED_UP_AT_ONCE);
    const answers = await Promise.all(some.map(async (name) => ({ name, ids: await idsBy(name) })));
    for (const { name, ids } of answers) {
      const [id, another] = ids;
      if (id === undefined) return { unknown: name };
      if (another !== undefined) return { several: name };
      found.set(name, id);
    }
  }
  return { ids: [...new Set(names.map((name) => found.get(name) ?? name))] };
}

/**
 * The ids of those that are called so: by id, alias (also with its cluster, `web.prod`), or the name of the machine.
 * Two: there are several.
 */
export async function idsOf(api: Api, name: string): Promise<readonly string[]> {
  if (UUID.test(name)) return [name];
  // a wildcard would be some that nobody meant
  if (name === '' || name.includes('*')) return [];
  const [aliases, nodes] = await Promise.all([
    api.list_aliases.query({ name, page_size: 2 }),
    api.list_nodes.query({ hostname: name, page_size: 2 }),
  ]);
  const byAlias = [...new Set(aliases.data.map(({ node_id: id }) => id))];
  if (byAlias.length > 0) return byAlias;
  if (nodes.data.length > 0) return nodes.data.map(({ id }) => id);
  const [, alias, cluster] = /^([^.]+)\.(.+)$/u.exec(name) ?? [];
  if (alias === undefined || cluster === undefined) return [];
  const { data } = await api.list_aliases.query({ name: alias, cluster_name: cluster, page_size: 2 });
  return data.map(({ node_id: id }) => id);
}
