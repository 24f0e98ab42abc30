/**
 * What admins say to each other through the database: short messages that are worth nothing later, and are lost when
 * nobody listens.
 */
import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';
import { ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** Where they are notified. */
export const ADMIN_CHANNEL = 'edge_peers';

/** One of them. `to` and `from` are ids of admins. */
const AdminMessage = z.discriminatedUnion('type', [
  /**
   * Ask the node's agent for a tunnel to `url`; the token is good once, for a few seconds. `http2`: as in
   * `open-tunnel`.
   */
  z.object({
    type: z.literal('tunnel-wanted'),
    to: z.string(),
    from: z.string(),
    node: NodeId,
    token: z.string(),
    url: z.string(),
    http2: z.literal(true).optional(),
  }),
  /** The node has no session here. */
  z.object({ type: z.literal('tunnel-refused'), to: z.string(), node: NodeId }),
  /** It listens, and is heard. */
  z.object({ type: z.literal('here'), from: z.string() }),
  /** A sweep of `from` ended these: whoever owns the nodes has them ended there (C7). Pairs of node and execution. */
  z.object({ type: z.literal('executions-ended'), from: z.string(), ended: z.array(z.tuple([NodeId, ExecutionId])) }),
  /** Whatever is open to this node ends now (E5). */
  z.object({ type: z.literal('node-revoked'), from: z.string(), node: NodeId }),
]);
/** A message to the other admins. */
export type AdminMessage = z.infer<typeof AdminMessage>;

/** Reads a notification; null when it is none of these messages: another version's. */
export function readAdminMessage(payload: string): AdminMessage | null {
  try {
    return AdminMessage.safeParse(JSON.parse(payload)).data ?? null;
  } catch {
    return null; // not JSON
  }
}

/**
 * Tells all admins, in a transaction once it is committed. Rejects with DatabaseUnavailable when the database is away.
 */
export async function tellAdmins(client: Pool | PoolClient, message: AdminMessage): Promise<void> {
  await rowsOf(client, 'telling the other admins', sql`select pg_notify(${ADMIN_CHANNEL}, ${JSON.stringify(message)})`);
}

/**
 * Pairs of ids in one message: PostgreSQL notifies of less than 8,000 bytes, and a pair takes 80. Source: PostgreSQL,
 * NOTIFY.
 */
const ENDED_PAIRS_MAX = 90;

/**
 * Tells the other admins which executions a sweep of this one ended, in its transaction: no crash comes between (C7).
 * Rejects with DatabaseUnavailable when the database is away.
 */
export async function tellEnded(
  client: PoolClient,
  from: string,
  ended: readonly (readonly [NodeId, ExecutionId])[],
): Promise<void> {
  for (let at = 0; at < ended.length; at += ENDED_PAIRS_MAX)
    await tellAdmins(client, {
      type: 'executions-ended',
      from,
      ended: ended.slice(at, at + ENDED_PAIRS_MAX).map(([node, execution]): [NodeId, ExecutionId] => [node, execution]),
    });
}

/**
 * Asks the admin that owns a node's cluster for a tunnel from that node to `url`. False: no other admin owns it now.
 */
export async function wantTunnel(pool: Pool, from: string, node: NodeId, token: string, url: string): Promise<boolean> {
  const rows = await rowsOf<{ to: string }>(
    pool,
    'looking for the owner of a node',
    sql`
    select w.admin_id as to from node n join cluster_ownership w on w.cluster_id = n.cluster_id where n.id = ${node}::uuid and w.lease_until > clock_timestamp() and w.admin_id <> ${from}::uuid`,
  );
  const [owner] = rows;
  if (owner === undefined) return false;
  await tellAdmins(pool, { type: 'tunnel-wanted', to: owner.to, from, node, token, url, http2: true });
  return true;
}

/**
 * SHA-256 of the token of each of these nodes, in hex; those that were deleted have none. Rejects with
 * DatabaseUnavailable.
 */
export async function tokenHashes(pool: Pool, nodes: readonly NodeId[]): Promise<ReadonlyMap<NodeId, string>> {
  const rows = await rowsOf<{ id: NodeId; hash: string }>(
    pool,
    'looking for credentials that were replaced',
    sql`select id, encode(token_hash, 'hex') as hash from node where id = any(${nodes}::uuid[])`,
  );
  return new Map(rows.map(({ id, hash }) => [id, hash]));
}
