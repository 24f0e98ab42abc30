/** Nodes of `AGENT_ID_TYPE=random`, which nobody is any more once their agent has ended. */
import type { Pool } from 'pg';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { before, DATABASE_NOW } from './moments.ts';

/** A node that never connected gets this much longer, in hours: its agent may still be on its way, however busy its machine is. */
const NEVER_CONNECTED_HOURS = 1;

/**
 * At most `limit` nodes with a random id, of clusters that this admin owns, that were unreachable and not seen for `afterMs` by the database's
 * clock (O2). The time before admins noticed does not count: while none ran, nobody could be seen.
 */
export async function findGone(pool: Pool, adminId: string, afterMs: number, limit: number): Promise<readonly NodeId[]> {
  const longAgo = before(DATABASE_NOW, afterMs);
  const rows = await rowsOf<{ id: NodeId }>(pool, 'looking for nodes with random ids that are gone', sql`
    select n.id from node n join cluster_ownership w on w.cluster_id = n.cluster_id and w.admin_id = ${adminId}::uuid
    where n.id_type = 'random' and n.status = 'unreachable' and n.status_since < ${longAgo} and coalesce(n.last_seen_at, n.inserted_at + make_interval(hours => ${NEVER_CONNECTED_HOURS}::int)) < ${longAgo}
    order by n.status_since limit ${limit}::int`);
  return rows.map(({ id }) => id);
}
