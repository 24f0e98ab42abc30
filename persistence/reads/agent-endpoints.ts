/** Where nodes are asked for their metrics: the look-up of every scrape, so those that wait together are one query. */
import type { Pool } from 'pg';
import type { AgentPorts } from '../../transport/protocol/agent-description.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { batched } from './batch.ts';
import { rowsOf, sql } from './sql.ts';

/** Ports of a node's agent, and the SHA-256 of its API token. */
export interface AgentEndpoint {
  readonly ports: AgentPorts;
  readonly tokenHash: Uint8Array;
}

/** The endpoint of a node; null when there is no such node. */
export function agentEndpointLookUp(pool: Pool): (node: NodeId) => Promise<AgentEndpoint | null> {
  return batched((nodes: readonly NodeId[]) => endpointsOf(pool, nodes));
}

async function endpointsOf(pool: Pool, nodes: readonly NodeId[]): Promise<readonly (AgentEndpoint | null)[]> {
  const rows = await rowsOf<AgentPorts & { id: NodeId; token_hash: Uint8Array }>(
    pool,
    'finding where nodes are asked',
    sql`
    select id, token_hash, http_port, ssh_port, host_metrics_port, wireguard_metrics_port, http_proxy_port, socks5_proxy_port
    from node where id = any(${nodes}::uuid[])`,
  );
  const endpoints = new Map(rows.map(({ id, token_hash: tokenHash, ...ports }) => [id, { ports, tokenHash }]));
  return nodes.map((node) => endpoints.get(node) ?? null);
}
