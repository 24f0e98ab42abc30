/** Stored executions with their outputs. */
import type { Api, Execution, Node } from './client.ts';
import { labelsOf } from './node-names.ts';

/** Ids in one question. Equals the largest page. */
const IDS_MAX = 100;

/** Nodes whose names are looked up; of more, the ids stand for themselves. */
const NAMED_NODES_MAX = 1_000;

/** All executions of a command on these nodes, whole outputs included. */
export async function executionsOn(api: Api, command: string, nodes: readonly string[]): Promise<readonly Execution[]> {
  const found: Execution[] = [];
  for (let from = 0; from < nodes.length; from += IDS_MAX) {
    const { data } = await api.list_command_executions.query({
      command_id__in: [command],
      node_id__in: nodes.slice(from, from + IDS_MAX),
      page_size: IDS_MAX,
    });
    found.push(...(await Promise.all(data.map((execution) => whole(api, execution)))));
  }
  return found;
}

// A page holds back outputs that would make it too long: a single read has them.
function whole(api: Api, execution: Execution): Promise<Execution> {
  const heldBack = execution.output_withheld;
  return heldBack ? api.get_command_execution.query({ id: execution.id }) : Promise.resolve(execution);
}

/** What to call these nodes. One that is gone is called by its id. */
export async function labelsFor(api: Api, ids: readonly string[]): Promise<(id: string) => string> {
  if (ids.length > NAMED_NODES_MAX) return (id) => id;
  const nodes: Node[] = [];
  for (let from = 0; from < ids.length; from += IDS_MAX)
    nodes.push(
      ...(await api.list_nodes.query({ node_id__in: ids.slice(from, from + IDS_MAX), page_size: IDS_MAX })).data,
    );
  const labels = labelsOf(nodes);
  return (id) => labels.get(id) ?? id;
}
