/** Many nodes with open executions, as rows. */
import { v7 } from 'uuid';
import type { NodeState } from '../../../actors/node/state.ts';
import type { Loader } from '../../../supervisors/ports.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import type { Opened } from '../../support/database/opened.ts';

/** When everything here was stored, in Unix ms and as a date. */
export const AT_MS = Date.UTC(2026, 0, 1);
export const AT = new Date(AT_MS);

/** So many nodes in this cluster. */
export async function storeNodes({ pool }: Pick<Opened, 'pool'>, cluster: ClusterId, nodes: number) {
  const ids = Array.from({ length: nodes }, () => crypto.randomUUID() as NodeId);
  await pool.query(
    `insert into node (id, cluster_id, status, version, id_type, http_port, ssh_port, host_metrics_port, wireguard_metrics_port, http_proxy_port, socks5_proxy_port, self_update_enabled, token_hash, sealed_proxy_password, status_since, inserted_at, updated_at)
    select id, $2, 'healthy', '1.0.0', 'random', 1, 2, 3, 4, 5, 6, false, id::text::bytea, 'sealed', $3, $3, $3 from unnest($1::uuid[]) as id`,
    [ids, cluster, AT],
  );
  return ids;
}

/** Nodes in one cluster, with one open execution of each command, in creation order. */
export async function storeFleet({ pool }: Opened, nodes: number, commands: number) {
  const cluster = v7() as ClusterId;
  await pool.query(
    `insert into cluster (id, name, ipv4_range, ipv6_range, node_count, inserted_at, updated_at) values ($1, 'fleet', '10.0.0.0/16', 'fd00::/64', $2, $3, $3)`,
    [cluster, nodes, AT],
  );
  const nodeIds = await storeNodes({ pool }, cluster, nodes);
  const commandIds = Array.from({ length: commands }, (_, index) => v7({ msecs: AT_MS + index }) as CommandId);
  await pool.query(
    `insert into command (id, command_text, targeting, timeout, inserted_at, updated_at) select id, 'uptime', '{"type":"all"}', 5000, $2, $2 from unnest($1::uuid[]) as id`,
    [commandIds, AT],
  );
  const executions = commandIds.flatMap((command, index) =>
    nodeIds.map((node) => ({ id: v7({ msecs: AT_MS + index }) as ExecutionId, command, node })),
  );
  await pool.query(
    `insert into command_execution (id, command_id, node_id, cluster_name, target_all, inserted_at, updated_at) select *, 'fleet', true, $4, $4 from unnest($1::uuid[], $2::uuid[], $3::uuid[])`,
    [executions.map(({ id }) => id), executions.map(({ command }) => command), executions.map(({ node }) => node), AT],
  );
  return { cluster, nodeIds, commandIds, executions };
}

/** All nodes of this cluster, in the rounds in which they are read. */
export async function roundsOf(loader: Loader, cluster: ClusterId, isHere?: (node: NodeId) => boolean) {
  const rounds: (readonly NodeState[])[] = [];
  for await (const round of loader.nodes([cluster], isHere)) rounds.push(round);
  return rounds;
}
