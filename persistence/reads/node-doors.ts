/** Where nodes are asked for their metrics: the look-up of every scrape, so those that wait together are one query. */
import type { Pool } from 'pg';
import type { AgentPorts } from '../../transport/protocol/frames.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { batched } from './batch.ts';
import { rowsOf, sql } from './sql.ts';

/** Ports of a node's agent, and the SHA-256 of its API token. */
export interface NodeDoor {
  readonly ports: AgentPorts;
  readonly tokenHash: Uint8Array;
}

/** The door of a node; null when there is no such node. */
export function nodeDoorLookUp(pool: Pool): (node: NodeId) => Promise<NodeDoor | null> {
  return batched((nodes: readonly NodeId[]) => doorsOf(pool, nodes));
}

async function doorsOf(pool: Pool, nodes: readonly NodeId[]): Promise<readonly (NodeDoor | null)[]> {
  const rows = await rowsOf<AgentPorts & { id: NodeId; token_hash: Uint8Array }>(
    pool,
    'finding where nodes are asked',
    sql`
    select id, token_hash, http_port, ssh_port, host_metrics_port, wireguard_metrics_port, http_proxy_port, socks5_proxy_port
    from node where id = any(${nodes}::uuid[])`,
  );
  const doors = new Map(rows.map(({ id, token_hash: tokenHash, ...ports }) => [id, { ports, tokenHash }]));
  return nodes.map((node) => doors.get(node) ?? null);
}
