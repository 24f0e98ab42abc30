/** Nodes of `AGENT_ID_TYPE=random`, which nobody is any more once their agent has ended. */
import type { Pool } from 'pg';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { before } from './timestamps.ts';

/**
 * A node that never connected gets this much longer, in hours: its agent may still be on its way, however busy its
 * machine is.
 */
const NEVER_CONNECTED_HOURS = 1;

/**
 * An agent that lives is back within this of the first admin that owns its cluster again, in ms: it tries every 30 s at
 * most, one URL after another. A node of a cluster that has been owned for less is nobody's absence, unless nodes are
 * forgotten sooner than that.
 */
export const AGENTS_BACK_MS_MAX = 300_000;

/**
 * At most `limit` nodes of these clusters with a random id that were unreachable and not seen for `afterMs` at `now`.
 * The clusters are those that were owned for long enough: while no admin ran, nobody could be seen.
 */
export async function findGone(
  pool: Pool,
  now: Sql,
  clusters: readonly ClusterId[],
  afterMs: number,
  limit: number,
): Promise<readonly NodeId[]> {
  if (clusters.length === 0) return [];
  const longAgo = before(now, afterMs);
  const rows = await rowsOf<{ id: NodeId }>(
    pool,
    'looking for nodes with random ids that are gone',
    sql`
    select n.id from node n where n.cluster_id = any(${clusters}::uuid[])
      and n.id_type = 'random' and n.status = 'unreachable' and n.status_since < ${longAgo} and coalesce(n.last_seen_at, n.inserted_at + make_interval(hours => ${NEVER_CONNECTED_HOURS}::int)) < ${longAgo}
    order by n.status_since limit ${limit}::int`,
  );
  return rows.map(({ id }) => id);
}
