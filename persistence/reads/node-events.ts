/** The events of one node, off an index of their own. */
import type { Pool } from 'pg';
import type { StoredEvent } from '../../actors/events.ts';
import type { NodeEventsQuery, Page } from '../../api/ports.ts';
import { storedEvent, type EventRow } from './events.ts';
import { rowsOf, sql } from './sql.ts';
import type { Semaphore } from '../semaphore.ts';

/** One page in order of commit, and the count of all. The condition on the type is that of the index. */
export async function nodeEvents(
  pool: Pool,
  { node, types, page, pageSize, isOldestFirst }: NodeEventsQuery,
  inTurn: Semaphore,
): Promise<Page<StoredEvent>> {
  const chosen = sql`e.subject = ${node}::uuid and e.type like 'edge.node.%' and ${types === null ? sql`true` : sql`e.type = any(${types}::text[])`}`;
  const order = isOldestFirst ? sql`e.txid, e.seq` : sql`e.txid desc, e.seq desc`;
  return inTurn(async () => {
    const rows = await rowsOf<EventRow & { readonly total: number }>(
      pool,
      'reading events of a node',
      sql`
      with page as (select e.txid, e.seq, e.id, e.type, e.subject, e.time, e.data from event e where ${chosen} order by ${order} limit ${pageSize}::bigint offset ${(page - 1) * pageSize}::bigint)
      select e.txid::text as txid, e.seq::text as seq, e.id, e.type, e.subject, e.time, e.data, total::float8 as total
      from (select count(*) as total from event e where ${chosen}) counted left join page e on true order by ${order}`,
    );
    return {
      // without a row on the page there is one that has the count alone
      rows: rows.filter(({ id }) => id !== null).map(storedEvent),
      totalCount: rows[0]?.total ?? 0,
    };
  });
}
