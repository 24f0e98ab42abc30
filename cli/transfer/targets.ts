/** The nodes that a targeting means, one by one: the service tells how many there are, and the first of them. */
import type { Api, Inputs, Node } from '../service/client.ts';
import { TARGET_NODES_MAX } from '../names/node-names.ts';
import { firstRows } from '../service/pages.ts';
import { EXIT, isNotFound, Problem } from '../problem.ts';
import type { Targeting } from '../names/targeting.ts';

/** Ids in one question: of so many, the service tells each that a targeting reaches. Equals the largest page. */
const IDS_MAX = 100;

/** What of a targeting leaves nodes out. */
type Narrowing = Pick<Inputs['preview_targeting']['targeting'], 'labels' | 'cluster_filters' | 'node_filters'>;

/**
 * All nodes that are meant now. Rejects with a Problem where there are none, where there are more than a targeting may
 * name, and for a group that there is not.
 */
export async function nodesOf(api: Api, targeting: Targeting): Promise<readonly Node[]> {
  const nodes = await meant(api, targeting);
  if (nodes.length === 0)
    throw new Problem('no node matches, so nothing was copied: edge node ls shows what there is', EXIT.notFound);
  return nodes;
}

async function meant(api: Api, targeting: Targeting): Promise<readonly Node[]> {
  if (targeting.type !== 'group') return narrowed(api, await candidatesOf(api, targeting), targeting);
  const {
    type,
    node_ids: ids,
    cluster_names: clusters,
    ...narrowing
  } = await groupTargeting(api, targeting.group ?? '');
  const members = await candidatesOf(api, {
    type: type === 'group' ? 'all' : type,
    ...(ids !== undefined && { node_ids: [...ids] }),
    ...(clusters !== undefined && { cluster_names: [...clusters] }),
    ...(narrowing.labels !== undefined && { labels: narrowing.labels }),
  });
  return narrowed(api, await narrowed(api, members, narrowing), targeting);
}

async function groupTargeting(api: Api, name: string) {
  try {
    return (await api.get_group.query({ name })).targeting;
  } catch (error) {
    throw isNotFound(error)
      ? new Problem(`there is no group "${name}": edge group ls shows all`, EXIT.notFound)
      : error;
  }
}

/** The nodes that are named, before any is left out for more than its labels. */
async function candidatesOf(
  api: Api,
  {
    type,
    node_ids: ids = [],
    cluster_names: clusters = [],
    labels,
  }: Pick<Targeting, 'type' | 'node_ids' | 'cluster_names' | 'labels'>,
): Promise<readonly Node[]> {
  if (type !== 'nodes') {
    const filter = {
      ...(labels !== undefined && { labels }),
      ...(type === 'clusters' && { cluster_name__in: clusters }),
    };
    const { rows, totalCount } = await firstRows(TARGET_NODES_MAX, (page) =>
      api.list_nodes.query({ ...filter, ...page }),
    );
    if (totalCount > TARGET_NODES_MAX)
      throw new Problem(
        `${totalCount} nodes match, and at most ${TARGET_NODES_MAX} can be copied to or from at once: say it by labels or clusters`,
        EXIT.usage,
      );
    return rows;
  }
  const found: Node[] = [];
  for (let from = 0; from < ids.length; from += IDS_MAX) {
    const { data } = await api.list_nodes.query({ node_id__in: ids.slice(from, from + IDS_MAX), page_size: IDS_MAX });
    found.push(...data);
  }
  return found;
}

/** Those of them that are not left out, as the service says. */
async function narrowed(
  api: Api,
  nodes: readonly Node[],
  { labels, cluster_filters: clusterFilters, node_filters: nodeFilters }: Narrowing,
): Promise<readonly Node[]> {
  const narrowing = {
    ...(labels !== undefined && { labels }),
    ...(clusterFilters !== undefined && { cluster_filters: clusterFilters }),
    ...(nodeFilters !== undefined && { node_filters: nodeFilters }),
  };
  if (Object.keys(narrowing).length === 0) return nodes;
  const reached = new Set<string>();
  for (let from = 0; from < nodes.length; from += IDS_MAX) {
    const ids = nodes.slice(from, from + IDS_MAX).map(({ id }) => id);
    const preview = await api.preview_targeting.query({ targeting: { type: 'nodes', node_ids: ids, ...narrowing } });
    for (const { id } of preview.nodes) reached.add(id);
  }
  return nodes.filter(({ id }) => reached.has(id));
}
