/** Nodes by what people call them. */
import type { Api, Node } from './client.ts';
import { firstRows } from './pages.ts';
import { EXIT, Problem } from './problem.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/** What may be the beginning of an id. */
const PREFIX = /^[0-9a-f][0-9a-f-]{3,34}$/u;

/** Nodes looked through for the beginning of an id; larger fleets take whole ids, aliases or host names. */
const SEARCHED_NODES_MAX = 5_000;

/**
 * The id of the node that is meant: by id, unique beginning of an id (4 characters or more), alias, or VPN host name.
 * Says what to do when it is none or several.
 */
export async function nodeIdOf(api: Api, name: string): Promise<string> {
  const text = name.trim().toLowerCase();
  if (UUID.test(text)) return text;
  if (text.includes('.')) return byHostName(api, text);
  if (text.startsWith('node-') && UUID.test(text.slice('node-'.length))) return text.slice('node-'.length);
  const aliased = await byAlias(api, text);
  if (aliased !== null) return aliased;
  if (PREFIX.test(text)) return byPrefix(api, text);
  throw unknown(name);
}

async function byHostName(api: Api, text: string): Promise<string> {
  const [label = '', cluster = ''] = text.split('.');
  const id = label.replace(/^node-/u, '');
  if (label.startsWith('node-') && UUID.test(id)) return id;
  const { data } = await api.list_aliases.query({ name: label, cluster_name: cluster.replace(/^cluster-/u, '') });
  const [alias] = data;
  if (alias === undefined) throw unknown(text);
  return alias.node_id;
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

async function byPrefix(api: Api, text: string): Promise<string> {
  const { rows, totalCount } = await firstRows(SEARCHED_NODES_MAX, (page) => api.list_nodes.query(page));
  const matches = rows.filter(({ id }) => id.startsWith(text));
  const [first, second] = matches;
  if (second !== undefined)
    throw new Problem(`${matches.length} nodes begin with "${text}": give more of the id`, EXIT.usage);
  if (first !== undefined) return first.id;
  if (totalCount > SEARCHED_NODES_MAX)
    throw new Problem(
      `no node among the newest ${SEARCHED_NODES_MAX} begins with "${text}": give the whole id, an alias or a host name`,
      EXIT.notFound,
    );
  throw unknown(text);
}

function unknown(name: string): Problem {
  return new Problem(
    `there is no node "${name}": edge node ls shows all, and a node is named by id, beginning of an id, alias or host name`,
    EXIT.notFound,
  );
}

/** What to call each node: its alias where it has one and no other node here has the same, else its id. */
export function labelsOf(nodes: readonly Pick<Node, 'id' | 'aliases'>[]): ReadonlyMap<string, string> {
  const taken = new Map<string, number>();
  for (const { aliases } of nodes)
    for (const { name } of aliases.slice(0, 1)) taken.set(name, (taken.get(name) ?? 0) + 1);
  return new Map(
    nodes.map(({ id, aliases: [alias] }) => [id, alias !== undefined && taken.get(alias.name) === 1 ? alias.name : id]),
  );
}
