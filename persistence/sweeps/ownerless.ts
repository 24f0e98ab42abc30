/**
 * Nodes of clusters that no admin owns: nobody hears their agents, so they do not stay what they were (O1: only while
 * the lease is over, which keeps a claim waiting).
 */
import type { Pool } from 'pg';
import { ownerless } from '../../actors/node/status.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { insertEvents } from '../committer/event-rows.ts';
import { HOT_STATEMENTS } from '../committer/hot-statements.ts';
import { missedBy } from '../committer/statement.ts';
import { aliasesOf, nodeState } from '../loader/node-states.ts';
import { NODE_COLUMNS, type NodeRow } from '../reads/record-rows.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { inTransaction } from '../connections/transaction.ts';

/**
 * A cluster is left in peace for at least this long, in ms: twice what a takeover may take (O2), however short a
 * silence of nodes is allowed.
 */
export const OWNERLESS_MS_MIN = 10_000;

/** What is said of clusters, and by whom. */
interface Watch {
  /** Silence after which a node is unreachable, in ms. */
  readonly unreachableAfterMs: number;
  /**
   * For how long this admin has watched without a gap, in ms: while it stood still or had no database nobody was shown
   * to be away.
   */
  readonly watchedMs: number;
}

/**
 * Makes at most `limit` nodes unreachable, with their events, in one transaction: those of clusters whose lease ran out
 * long ago by the database's clock, and in the sight of this admin. Clusters that somebody claims just now are left
 * out. Their epoch goes on: an owner that was only away holds it no more and reads the rows again, instead of going on
 * with what it knew of its nodes. Answers which.
 */
export async function markOwnerless(
  pool: Pool,
  { unreachableAfterMs, watchedMs }: Watch,
  limit: number,
): Promise<readonly NodeId[]> {
  const afterMs = Math.max(unreachableAfterMs, OWNERLESS_MS_MIN);
  if (watchedMs < afterMs) return [];
  return inTransaction(pool, 'looking after nodes without an owner', async (client) => {
    const rows = await rowsOf<NodeRow & { readonly lease_until: Date; readonly now: Date }>(
      client,
      'looking after nodes without an owner',
      sql`
      with free as materialized (
        select cluster_id, lease_until from cluster_ownership o where o.lease_until < clock_timestamp() - ${afterMs}::float8 * interval '1 ms'
          and exists (select from node x where x.cluster_id = o.cluster_id and x.status <> 'unreachable') order by cluster_id limit ${limit}::int for update skip locked)
      select ${NODE_COLUMNS}, free.lease_until, now() as now from free join cluster c on c.id = free.cluster_id join node n on n.cluster_id = c.id
      where n.status <> 'unreachable' order by n.id limit ${limit}::int for no key update of n skip locked`,
    );
    const aliases = await aliasesOf(
      client,
      rows.map(({ id }) => id),
    );
    const changes = rows.flatMap(
      (row) =>
        ownerless(nodeState(row, aliases.get(row.id) ?? [], [], null), row.lease_until.getTime(), row.now.getTime())
          .changes,
    );
    const writes = changes.flatMap(({ write }) => (write.kind === 'node-status' ? [write] : []));
    const clusters = [...new Set(rows.map((row) => row.cluster_id))];
    await rowsOf(
      client,
      'ending leases that ran out',
      sql`update cluster_ownership set epoch = epoch + 1 where cluster_id = any(${clusters}::uuid[])`,
    );
    if (writes.length > 0)
      for (const statement of HOT_STATEMENTS['node-status'](writes)) await missedBy(client, statement);
    await insertEvents(
      client,
      changes.flatMap(({ events }) => events),
    );
    return rows.map(({ id }) => id);
  });
}
