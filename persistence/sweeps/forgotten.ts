/**
 * Open executions whose node is reachable and has not moved them for a while: another admin stored them, or a crash
 * came between. Their owner is reminded.
 */
import type { Pool } from 'pg';
import type { ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { before, DATABASE_NOW } from './timestamps.ts';

/**
 * How long an execution may stand still before it counts as forgotten, in ms: well above a delivery, well below what an
 * operator would notice.
 */
export const FORGOTTEN_AFTER_MS = 2_000;

export interface Forgotten {
  /** Nodes with pending executions that they should look for. */
  readonly pending: readonly NodeId[];
  /** Executions whose cancellation is stored and not carried out. */
  readonly cancels: readonly { readonly node: NodeId; readonly execution: ExecutionId }[];
}

/** At most `limit` of each, among clusters that this admin owns. Telling a node twice does no harm. */
export async function findForgotten(pool: Pool, adminId: string, limit: number): Promise<Forgotten> {
  const longAgo = before(DATABASE_NOW, FORGOTTEN_AFTER_MS);
  const mine = sql`join node n on n.id = e.node_id and n.status <> 'unreachable' join cluster_ownership w on w.cluster_id = n.cluster_id and w.admin_id = ${adminId}::uuid`;
  const pending = await rowsOf<{ node_id: NodeId }>(
    pool,
    'looking for forgotten executions',
    sql`select distinct e.node_id from command_execution e ${mine} where e.finished_at is null and e.status = 'pending' and e.inserted_at < ${longAgo} limit ${limit}`,
  );
  const cancels = await rowsOf<{ node: NodeId; execution: ExecutionId }>(
    pool,
    'looking for forgotten cancellations',
    sql`select e.node_id as node, e.id as execution from command_execution e ${mine} where e.finished_at is null and e.cancel_requested_at < ${longAgo} limit ${limit}`,
  );
  return { pending: pending.map((row) => row.node_id), cancels };
}
