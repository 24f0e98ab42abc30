/** The events of one node, off indexes of their own. */
import type { Pool } from 'pg';
import { LOGIN_EVENT_TYPE, type EventType, type StoredEvent } from '../../actors/events.ts';
import type { NodeEventsQuery, Page } from '../../api/ports.ts';
import { storedEvent, type EventRow } from './events.ts';
import type { Semaphore } from '../semaphore.ts';
import { join, rowsOf, sql, type Sql } from './sql.ts';

/** The conditions of two partial indexes, `event_of_node` and `event_login_of_node`: each is read by itself. */
const OWN = sql`e.type like 'edge.node.%'`;
const LOGINS = sql`e.type = 'edge.ssh_username.verified'`;

/**
 * One page in order of commit, and the count of all. However many of one kind there are, the other is found as fast.
 */
export async function nodeEvents(
  pool: Pool,
  { node, types, page, pageSize, isOldestFirst }: NodeEventsQuery,
  inTurn: Semaphore,
): Promise<Page<StoredEvent>> {
  const ordered = isOldestFirst ? sql`order by e.txid, e.seq` : sql`order by e.txid desc, e.seq desc`;
  const parts = partsOf(types).map((part) => sql`from event e where e.subject = ${node}::uuid and ${part}`);
  const heads = parts.map(
    (part) =>
      sql`(select e.txid, e.seq, e.id, e.type, e.subject, e.time, e.data ${part} ${ordered} limit ${page * pageSize}::bigint)`,
  );
  const counts = parts.map((part) => sql`(select count(*) ${part})`);
  return inTurn(async () => {
    const rows = await rowsOf<EventRow & { readonly total: number }>(
      pool,
      'reading events of a node',
      sql`
      with page as (select * from (${join(heads, sql` union all `)}) e ${ordered} limit ${pageSize}::bigint offset ${(page - 1) * pageSize}::bigint)
      select e.txid::text as txid, e.seq::text as seq, e.id, e.type, e.subject, e.time, e.data, total::float8 as total
      from (select ${join(counts, sql` + `)} as total) counted left join page e on true ${ordered}`,
    );
    return {
      // without a row on the page there is one that has the count alone
      rows: rows.filter(({ id }) => id !== null).map(storedEvent),
      totalCount: rows[0]?.total ?? 0,
    };
  });
}

/** What is wanted of each index. */
function partsOf(types: readonly EventType[] | null): readonly Sql[] {
  if (types === null) return [OWN, LOGINS];
  const own = types.filter((type) => type !== LOGIN_EVENT_TYPE);
  const ofOwn = sql`${OWN} and e.type = any(${own}::text[])`;
  if (own.length === types.length) return [ofOwn];
  return own.length === 0 ? [LOGINS] : [ofOwn, LOGINS];
}
