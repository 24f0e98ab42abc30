/** Nodes by what people call them. */
import type { Api, Node } from '../service/client.ts';
import { firstRows } from '../service/pages.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT, isNotFound, Problem } from '../problem.ts';
import { isUuid, shortIds } from '../table/short-ids.ts';

/** What may be the beginning of an id. */
const PREFIX = /^[0-9a-f][0-9a-f-]{3,34}$/u;

/** What may be a part of names, with wildcards. */
const PATTERN = /^[\w.*-]{1,253}$/u;

/** What a machine may call itself: no wildcard. */
const MACHINE = /^[\w.-]{1,253}$/u;

/** May stand before the name of a cluster in a host name. Source: docs/names.md. */
const CLUSTER_PREFIX = 'cluster-';

/** Ids that are named where several machines have one name. */
const NAMED_MAX = 3;

/** Nodes that one targeting may name. Source: docs/limits.md. */
export const TARGET_NODES_MAX = 27_000;

/** Nodes looked through for the beginning of an id; larger fleets take whole ids, aliases or host names. */
const SEARCHED_NODES_MAX = 5_000;

/**
 * The id of the node that is meant: by id, unique beginning of an id (4 characters or more), alias, name of its
 * machine, or VPN host name. Says what to do when it is none or several.
 * Machines name themselves: what one of them is called is not taken for the beginning of another's id, nor for the host
 * name of an alias that is gone.
 */
export async function nodeIdOf(api: Api, name: string): Promise<string> {
  const text = name.trim().toLowerCase();
  if (isUuid(text)) return text;
  if (text.includes('*'))
    throw new Problem(`"${name}" could mean several nodes, and one is wanted here: edge node ls shows all`, EXIT.usage);
  if (text.includes('.')) return byHostName(api, name.trim());
  if (text.startsWith('node-') && isUuid(text.slice('node-'.length))) return text.slice('node-'.length);
  const found = (await byAlias(api, text)) ?? (await byMachine(api, name.trim()));
  if (!PREFIX.test(text)) {
    if (found === null) throw unknown(name);
    return found;
  }
  const beginning = await byPrefix(api, text, found !== null);
  if (found !== null && beginning !== null && found !== beginning)
    throw new Problem(
      `one node is called "${text}", and the id of another begins so: give one of ${found}, ${beginning}`,
      EXIT.usage,
    );
  const meant = found ?? beginning;
  if (meant === null) throw unknown(name);
  return meant;
}

/** The ids of all nodes that are meant: each by one of its names, or several by a part of a name with `*`. */
export async function nodeIdsOf(api: Api, given: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    given.map(async (name) => (name.includes('*') ? byPattern(api, name) : [await nodeIdOf(api, name)])),
  );
  return [...new Set(found.flat())];
}

/** Nodes with an alias that fits, or on a machine whose name fits. */
async function byPattern(api: Api, name: string): Promise<readonly string[]> {
  const isPattern = PATTERN.test(name);
  const [aliases, machines] = await Promise.all([
    isPattern
      ? firstRows(TARGET_NODES_MAX, (page) => api.list_aliases.query({ name: name.toLowerCase(), ...page }))
      : NONE,
    isPattern ? firstRows(TARGET_NODES_MAX, (page) => api.list_nodes.query({ hostname: name, ...page })) : NONE,
  ]);
  const count = Math.max(aliases.totalCount, machines.totalCount);
  if (count > TARGET_NODES_MAX)
    throw new Problem(
      `"${name}" matches ${count} nodes, and at most ${TARGET_NODES_MAX} can be named: say it by labels, clusters or --all`,
      EXIT.usage,
    );
  const ids = [...aliases.rows.map((alias) => alias.node_id), ...machines.rows.map(({ id }) => id)];
  if (ids.length === 0) throw new Problem(`no node matches "${name}": edge node ls shows all`, EXIT.notFound);
  return ids;
}

const NONE = { rows: [], totalCount: 0 } as const;

/** What is asked of a node; where there is none of this id any more, that is said of the name. */
export async function ofNode<T>(name: string, found: Promise<string>, ask: (id: string) => Promise<T>): Promise<T> {
  const id = await found;
  try {
    return await ask(id);
  } catch (error) {
    throw isNotFound(error) ? unknown(name) : error;
  }
}

/**
 * A label `cluster-x` is the cluster of that name before it is the cluster `x`, as for the proxies; either stands alone
 * or with its domain.
 */
async function byHostName(api: Api, name: string): Promise<string> {
  const text = name.toLowerCase().replace(/\.$/u, '');
  const [label = ''] = text.split('.', 1);
  const id = label.replace(/^node-/u, '');
  if (label.startsWith('node-') && isUuid(id)) return id;
  const rest = text.slice(label.length + 1);
  const places = rest.startsWith(CLUSTER_PREFIX) ? [rest, rest.slice(CLUSTER_PREFIX.length)] : [rest];
  for (const place of places) {
    const found = await byAliasIn(api, label, place);
    if (found !== null) return found;
  }
  const isAlias = (await Promise.all(places.map((place) => isPlaceOfAliases(api, place)))).includes(true);
  const found = isAlias ? null : await byMachine(api, name);
  if (found === null) throw unknown(name);
  return found;
}

/** The node with this alias in a cluster, which stands alone or with its domain. */
async function byAliasIn(api: Api, label: string, place: string): Promise<string | null> {
  const cluster = clusterOf(place);
  const { data } = await api.list_aliases.query({ name: label, cluster_name: cluster });
  return data.find(({ vpn_hostname: host }) => place === cluster || host === `${label}.${place}`)?.node_id ?? null;
}

/** Whether aliases could have host names there, if there were any: the cluster is there. */
async function isPlaceOfAliases(api: Api, place: string): Promise<boolean> {
  const cluster = clusterOf(place);
  const { data } = await api.list_clusters.query({ name: cluster });
  return data.some(({ vpn_domain: domain }) => place === cluster || place === domain.toLowerCase());
}

function clusterOf(place: string): string {
  return place.split('.', 1)[0] ?? '';
}

/** The node whose machine calls itself so. */
async function byMachine(api: Api, name: string): Promise<string | null> {
  if (!MACHINE.test(name)) return null;
  const { data, pagination } = await api.list_nodes.query({ hostname: name });
  if (pagination.total_count > 1)
    throw new Problem(
      `${pagination.total_count} machines are called "${name}": give one of ${data
        .slice(0, NAMED_MAX)
        .map(({ id }) => id)
        .join(', ')}`,
      EXIT.usage,
    );
  return data[0]?.id ?? null;
}

async function byAlias(api: Api, text: string): Promise<string | null> {
  if (!/^[a-z0-9-]{1,63}$/u.test(text)) return null;
  const { data } = await api.list_aliases.query({ name: text });
  if (data.length > 1)
    throw new Problem(
      `"${text}" is the alias of several nodes: give one of ${data.map(({ vpn_hostname: host }) => host).join(', ')}`,
      EXIT.usage,
    );
  return data[0]?.node_id ?? null;
}

/** The node whose id begins so; null: none. A node that `isNamed` so may be one of more than are looked through. */
async function byPrefix(api: Api, text: string, isNamed: boolean): Promise<string | null> {
  const { rows, totalCount } = await firstRows(SEARCHED_NODES_MAX, (page) => api.list_nodes.query(page));
  const matches = rows.filter(({ id }) => id.startsWith(text));
  const [first, second] = matches;
  if (second !== undefined)
    throw new Problem(`${matches.length} nodes begin with "${text}": give more of the id`, EXIT.usage);
  if (first !== undefined) return first.id;
  if (totalCount > SEARCHED_NODES_MAX && !isNamed)
    throw new NotAmongNewest(
      `no node among the newest ${SEARCHED_NODES_MAX} begins with "${text}": give the whole id, an alias or a host name`,
      EXIT.notFound,
    );
  return null;
}

/** There may be such a node among those that are not looked through. */
export class NotAmongNewest extends Problem {}

function unknown(name: string): Problem {
  return new Problem(
    `there is no node "${name}": edge node ls shows all, and a node is named by alias, host name, id or the beginning of one`,
    EXIT.notFound,
  );
}

/** `1 node`, `4 nodes`. */
export function countOfNodes(count: number): string {
  return count === 1 ? '1 node' : `${count} nodes`;
}

/** What is needed to call a node by its name. */
type NamedNode = Pick<Node, 'id' | 'name'>;

/**
 * What to call each of these nodes: by its name, or by its id, as short as it is told apart here, where several have
 * that name.
 */
export function labelsOf(nodes: readonly NamedNode[]): ReadonlyMap<string, string> {
  const called = nodes.map(({ id, name }) => ({ id, name: plainText(name) })); // machines name themselves
  const taken = new Map<string, number>();
  for (const { name } of called) taken.set(name, (taken.get(name) ?? 0) + 1);
  const short = shortIds(called.map(({ id }) => id));
  return new Map(called.map(({ id, name }) => [id, taken.get(name) === 1 ? name : short(id)]));
}
