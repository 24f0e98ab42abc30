/** The list of nodes. */
import { LISTS } from '../../actors/filters.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { displayName } from '../../actors/node/display-name.ts';
import { factField, LABELS_FIELD, VERSION_FIELD } from './node-conditions.ts';
import { aliasHostname, nodeHostname, type Reading, type Source } from './source.ts';
import { DESCRIPTION_COLUMNS } from './record-rows.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql } from './sql.ts';

export const NODES: Source<NodeResource> = {
  spec: LISTS.nodes,
  counted: 'node',
  table: sql`node n`,
  id: sql`n.id`,
  joinCluster: sql`join cluster c on c.id = n.cluster_id`,
  fields: {
    node_id: { column: sql`n.id` },
    enrollment_key_id: { column: sql`n.enrollment_key_id` },
    has_enrollment_key: { column: sql`(n.enrollment_key_id is not null)` },
    status: { column: sql`n.status` },
    version: { column: sql`n.version`, ...VERSION_FIELD },
    id_type: { column: sql`n.id_type` },
    self_update_enabled: { column: sql`n.self_update_enabled` },
    cluster_name: { column: sql`c.name`, cluster: true },
    hostname: factField('hostname'),
    os: factField('os'),
    arch: factField('arch'),
    labels: LABELS_FIELD,
    last_seen_at: { column: sql`n.last_seen_at` },
    inserted_at: { column: sql`n.inserted_at`, creation: true },
    updated_at: { column: sql`n.updated_at` },
  },
  creation: [sql`n.inserted_at`, sql`n.id`], // the ids are the agents' own, so they have no order
  resources,
};

interface NodeRow extends RowOf<typeof NodeResource, 'name' | 'vpn_hostname' | 'aliases'> {
  readonly aliases: readonly { readonly id: string; readonly name: string }[] | null;
}

async function resources({ pool, domain }: Reading, ids: readonly string[]): Promise<NodeResource[]> {
  const rows = await rowsOf<NodeRow>(
    pool,
    'reading nodes',
    sql`
    select n.id, c.name as cluster_name, n.status, n.status_since, n.status_reason, n.status_detail -> 'evidence' as status_evidence, n.version, n.id_type, n.http_port, n.ssh_port, n.host_metrics_port, n.wireguard_metrics_port,
      n.http_proxy_port, n.socks5_proxy_port, n.self_update_enabled, n.enrollment_key_id, ${DESCRIPTION_COLUMNS}, n.last_seen_at, n.inserted_at, n.updated_at,
      (select json_agg(json_build_object('id', a.id, 'name', a.name) order by a.name) from alias a where a.node_id = n.id) as aliases
    from unnest(${ids}::uuid[]) with ordinality as page (id, place) join node n on n.id = page.id join cluster c on c.id = n.cluster_id order by page.place`,
  );
  return rows.map((row) => ({
    ...withIsoTimes(row),
    name: displayName(row, row.aliases ?? []),
    vpn_hostname: nodeHostname(row.id, row.cluster_name, domain),
    aliases: (row.aliases ?? []).map(({ id, name }) => ({
      id,
      name,
      vpn_hostname: aliasHostname(name, row.cluster_name, domain),
    })),
  }));
}
