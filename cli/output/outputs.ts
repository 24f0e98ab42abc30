/** Stored executions with their outputs. */
import type { Api, Execution, Node } from '../service/client.ts';
import { labelsOf } from '../names/node-names.ts';
import { firstRows } from '../service/pages.ts';
import { shortId, shortIds } from '../table/short-ids.ts';

/** Ids in one question. Equals the largest page. */
const IDS_MAX = 100;

/** Nodes whose names are looked up; of more, their ids stand for them. */
const NAMED_NODES_MAX = 1_000;

/** How one thing is read: once, or until there is an answer. What is read is given up once the signal aborts. */
export type Reading = <T>(read: (signal: AbortSignal) => Promise<T>) => Promise<T>;

const once: Reading = (read) => read(new AbortController().signal);

/** All executions of a command on these nodes, whole outputs included. */
export async function executionsOn(
  api: Api,
  command: string,
  nodes: readonly string[],
  reading = once,
): Promise<readonly Execution[]> {
  const found: Execution[] = [];
  for await (const page of pagesOn(api, command, nodes, reading))
    found.push(...(await Promise.all(page.map((execution) => whole(api, execution, reading)))));
  return found;
}

/** The same one after the other: no more than a page of them is held at a time. */
export async function* eachExecutionOn(
  api: Api,
  command: string,
  nodes: readonly string[],
  reading = once,
): AsyncGenerator<Execution, void, undefined> {
  for await (const page of pagesOn(api, command, nodes, reading))
    for (const execution of page) yield await whole(api, execution, reading);
}

async function* pagesOn(
  api: Api,
  command: string,
  nodes: readonly string[],
  reading: Reading,
): AsyncGenerator<readonly Execution[], void, undefined> {
  for (let from = 0; from < nodes.length; from += IDS_MAX) {
    const page = { command_id__in: [command], node_id__in: nodes.slice(from, from + IDS_MAX), page_size: IDS_MAX };
    const { data } = await reading((signal) => api.list_command_executions.query(page, { signal }));
    yield data;
  }
}

// A page holds back outputs that would make it too long: a single read has them.
async function whole(api: Api, execution: Execution, reading: Reading): Promise<Execution> {
  const { id, output_withheld: isHeldBack } = execution;
  return isHeldBack ? reading((signal) => api.get_command_execution.query({ id }, { signal })) : execution;
}

/** Aliases that are looked through, so that no machine is called by that of another. */
const ALIASES_MAX = 1_000;

/**
 * What to call these nodes. One that is gone is called by the first characters of its id, and so is one whose machine
 * calls itself as another node is called by its alias, or may do: these are asked for apart from each other.
 */
export async function labelsFor(api: Api, ids: readonly string[], reading = once): Promise<(id: string) => string> {
  if (ids.length > NAMED_NODES_MAX) return shortIds(ids);
  const nodes: Node[] = [];
  for (let from = 0; from < ids.length; from += IDS_MAX) {
    const page = { node_id__in: ids.slice(from, from + IDS_MAX), page_size: IDS_MAX };
    nodes.push(...(await reading((signal) => api.list_nodes.query(page, { signal }))).data);
  }
  const isTaken = await takenNames(api, nodes, reading);
  const labels = labelsOf(nodes.filter((node) => !isTaken(node)));
  return (id) => labels.get(id) ?? shortId(id);
}

/** Whether a node is called by a name that is an alias, and none of its own. */
async function takenNames(api: Api, nodes: readonly Node[], reading: Reading): Promise<(node: Node) => boolean> {
  const hasOwnName = ({ name, aliases }: Node): boolean => aliases.some((alias) => alias.name === name);
  if (nodes.every(hasOwnName)) return () => false;
  const { rows, totalCount } = await firstRows(ALIASES_MAX, (page) =>
    reading((signal) => api.list_aliases.query(page, { signal })),
  );
  const taken = new Set(rows.map(({ name }) => name));
  return (node) => !hasOwnName(node) && (totalCount > ALIASES_MAX || taken.has(node.name.toLowerCase()));
}

/** What nodes are called, asked for as they come up. */
export class NodeNames {
  readonly #api: Api;
  readonly #known = new Map<string, string>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** The names of these, as far as the service tells them now; others are called by their ids. Never rejects. */
  async of(ids: readonly string[]): Promise<(id: string) => string> {
    const unknown = [...new Set(ids)].filter((id) => !this.#known.has(id));
    try {
      const label = unknown.length === 0 ? shortId : await labelsFor(this.#api, unknown);
      for (const id of unknown) this.#known.set(id, label(id));
    } catch {
      // an admin that is away tells the names of what comes later
    }
    return (id) => this.#known.get(id) ?? shortId(id);
  }
}
