/** Nodes of clusters that no admin owns: nobody hears their agents, so they do not stay what they were (O1: only while the lease is over, which keeps a claim waiting). */
import type { Pool } from 'pg';
import { ownerless } from '../../actors/node/status.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { insertEvents } from '../committer/event-rows.ts';
import { HOT_STATEMENTS } from '../committer/hot-statements.ts';
import { nodeState } from '../loader/node-states.ts';
import { NODE_COLUMNS, type NodeRow } from '../reads/record-rows.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { inTransaction } from '../transaction.ts';

/**
 * Makes at most `limit` nodes unreachable, with their events, in one transaction: those of clusters whose lease ran out `afterMs` ago by the database's
 * clock. Clusters that somebody claims just now are left out. Answers which.
 */
export function markOwnerless(pool: Pool, afterMs: number, limit: number): Promise<readonly NodeId[]> {
  return inTransaction(pool, 'looking after nodes without an owner', async (client) => {
    const rows = await rowsOf<NodeRow & { readonly lease_until: Date; readonly now: Date }>(client, 'looking after nodes without an owner', sql`
      with free as materialized (
        select cluster_id, lease_until from cluster_ownership o where o.lease_until < clock_timestamp() - ${afterMs}::float8 * interval '1 ms'
          and exists (select from node x where x.cluster_id = o.cluster_id and x.status <> 'unreachable') order by cluster_id limit ${limit}::int for share skip locked)
      select ${NODE_COLUMNS}, free.lease_until, now() as now from free join cluster c on c.id = free.cluster_id join node n on n.cluster_id = c.id
      where n.status <> 'unreachable' order by n.id limit ${limit}::int for no key update of n skip locked`);
    const changes = rows.flatMap((row) => ownerless(nodeState(row, [], [], null), row.lease_until.getTime(), row.now.getTime()).changes);
    const writes = changes.flatMap(({ write }) => (write.kind === 'node-status' ? [write] : []));
    if (writes.length > 0) await HOT_STATEMENTS['node-status'](client, writes);
    await insertEvents(client, changes.flatMap(({ events }) => events));
    return rows.map(({ id }) => id);
  });
}
