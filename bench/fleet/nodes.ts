/** Simulated nodes put straight into the database, so that ten thousand need no enrolment. */
import type { Client, QueryConfig } from 'pg';

/** Nodes a cluster. Source: docs/limits.md. */
export const NODES_PER_CLUSTER = 100;

/** Id of the simulated node `index`, from 0. */
export function nodeId(index: number): string {
  return `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;
}

/** Session token of that node; its SHA-256 is in the database. */
export function nodeToken(index: number): string {
  return `bench-token-of-node-${index}`;
}

/** Name of the cluster that the node is in. */
export function clusterNameOf(index: number, perCluster = NODES_PER_CLUSTER): string {
  return `bench-${Math.floor(index / perCluster)}`;
}

/** Timeout of one of these statements, in ms: more rows at once than any operation writes. */
const INSERTED_MS_MAX = 120_000;

/** Inserts nodes 0 … count - 1 and their clusters, as enrolment would have left them. */
export async function insertNodes(client: Client, count: number, perCluster = NODES_PER_CLUSTER): Promise<void> {
  const clusters = Math.ceil(count / perCluster);
  const query = (text: string, values: unknown[] = []) =>
    client.query({ text, values, query_timeout: INSERTED_MS_MAX } as QueryConfig);
  await query('set statement_timeout = 0');
  await query('begin'); // an admin that runs already takes clusters up with all of their nodes
  await query(
    `insert into cluster (id, name, ipv4_range, ipv6_range, node_limit, node_count, inserted_at, updated_at)
    select ('00000000-0000-4000-9000-' || lpad(to_hex(c), 12, '0'))::uuid, 'bench-' || c, ('10.' || c / 256 || '.' || c % 256 || '.0/24')::cidr,
      ('fd00:0:0:' || to_hex(c) || '::/64')::cidr, null, least($2::int, $1::int - c * $2), now(), now()
    from generate_series(0, $3::int - 1) as c`,
    [count, perCluster, clusters],
  );
  await query(
    'insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) select id, null, 0, now() from cluster on conflict do nothing',
  );
  await query(
    `insert into node (id, cluster_id, status, version, id_type, http_port, ssh_port, host_metrics_port, wireguard_metrics_port,
      http_proxy_port, socks5_proxy_port, self_update_enabled, token_hash, sealed_proxy_password, status_since, inserted_at, updated_at)
    select ('00000000-0000-4000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, ('00000000-0000-4000-9000-' || lpad(to_hex(i / $2::int), 12, '0'))::uuid,
      'unreachable', '1.0.0', 'persistent', 44000, 40022, 49100, 49586, 43128, 41080, false,
      sha256(convert_to('bench-token-of-node-' || i, 'UTF8')), 'none', now(), now() + i * interval '1 ms', now()
    from generate_series(0, $1::int - 1) as i`,
    [count, perCluster],
  );
  await query('commit');
  await query('vacuum analyze');
  await query('reset statement_timeout');
}
