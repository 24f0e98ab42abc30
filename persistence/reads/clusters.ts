/** The list of clusters. */
import { LISTS } from '../../actors/filters.ts';
import type { ClusterNode, ClusterResource } from '../../actors/resources/cluster.ts';
import type { NodeStatus } from '../../actors/resources/node.ts';
import { nodeHostname, type Reading, type Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql } from './sql.ts';

/** Nodes named in a single read. Source: docs/api.md, Resources. */
const NODES_MAX = 100;

export const CLUSTERS: Source<ClusterResource> = {
  spec: LISTS.clusters,
  counted: null,
  table: sql`cluster c`,
  id: sql`c.id`,
  joinCluster: sql``,
  fields: {
    name: { column: sql`c.name` },
    node_id: {
      matches: ({ value }) => sql`c.id in (select n.cluster_id from node n where n.id = any(${value}::uuid[]))`,
    },
    ipv4_range: { column: sql`c.ipv4_range` },
    ipv6_range: { column: sql`c.ipv6_range` },
    node_count: { column: sql`c.node_count` },
    node_limit: { column: sql`c.node_limit` },
    has_node_limit: { column: sql`(c.node_limit is not null)` },
    inserted_at: { column: sql`c.inserted_at`, creation: true },
    updated_at: { column: sql`c.updated_at` },
  },
  creation: [sql`c.inserted_at`, sql`c.id`],
  resources,
};

type ClusterRow = RowOf<typeof ClusterResource, 'network_name' | 'vpn_domain' | 'nodes'>;

async function resources(reading: Reading, ids: readonly string[], single: boolean): Promise<ClusterResource[]> {
  const rows = await rowsOf<ClusterRow>(
    reading.pool,
    'reading clusters',
    sql`
    select c.id, c.name, c.ipv4_range::text, c.ipv6_range::text, c.node_limit, c.node_count, c.inserted_at, c.updated_at
    from unnest(${ids}::uuid[]) with ordinality as page (id, place) join cluster c on c.id = page.id order by page.place`,
  );
  return Promise.all(
    rows.map(withIsoTimes).map(async ({ inserted_at, updated_at, ...row }) => ({
      ...row,
      network_name: `cluster-${row.name}`,
      vpn_domain: `${row.name}.${reading.domain}`,
      ...(single ? { nodes: await nodesOf(reading, row) } : {}),
      inserted_at,
      updated_at,
    })),
  );
}

async function nodesOf({ pool, domain }: Reading, cluster: Pick<ClusterRow, 'id' | 'name'>): Promise<ClusterNode[]> {
  const rows = await rowsOf<{ id: string; status: NodeStatus; enrollment_key_id: string | null }>(
    pool,
    'reading the nodes of a cluster',
    sql`
    select id, status, enrollment_key_id from node where cluster_id = ${cluster.id}::uuid order by inserted_at desc, id desc limit ${NODES_MAX}::int`,
  );
  return rows.map((node) => ({
    id: node.id,
    status: node.status,
    vpn_hostname: nodeHostname(node.id, cluster.name, domain),
    enrollment_key_id: node.enrollment_key_id,
  }));
}
