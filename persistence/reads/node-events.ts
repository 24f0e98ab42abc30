/** The events of one node, off indexes of their own. */
import type { Pool } from 'pg';
import { LOGIN_EVENT_TYPE, type EventType, type StoredEvent } from '../../actors/events.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { NodeEventsQuery, Page } from '../../api/ports.ts';
import { LOGINS_INDEX } from '../concurrent-indexes.ts';
import { storedEvent, type EventRow } from './events.ts';
import type { Semaphore } from '../connections/semaphore.ts';
import { join, rowsOf, sql, type Sql } from './sql.ts';

/**
 * Whether logins are found by their index: it is made beside the work of a new version, and may take its time. Without
 * it all events would be read.
 */
const HAS_LOGINS = sql`coalesce((select indisvalid from pg_index where indexrelid = to_regclass(${LOGINS_INDEX}::text)), false)`;

/** The conditions of two partial indexes, `event_of_node` and `event_login_of_node`: each is read by itself. */
const OWN = sql`e.type like 'edge.node.%'`;
const LOGINS = sql`e.type = 'edge.ssh_username.verified' and ${HAS_LOGINS}`;

/**
 * One page in order of commit, and the count of all, or of as many as are asked for. However many of one kind there
 * are, the other is found as fast. While logins cannot be found (HAS_LOGINS) they are left out, and whoever asks for
 * their type is refused: `service_unavailable`.
 */
export async function nodeEvents(
  pool: Pool,
  { node, types, page, pageSize, isOldestFirst, countedMax }: NodeEventsQuery,
  inTurn: Semaphore,
): Promise<Result<Page<StoredEvent>>> {
  const ordered = isOldestFirst ? sql`order by e.txid, e.seq` : sql`order by e.txid desc, e.seq desc`;
  const parts = partsOf(types).map((part) => sql`from event e where e.subject = ${node}::uuid and ${part}`);
  const heads = parts.map(
    (part) =>
      sql`(select e.txid, e.seq, e.id, e.type, e.subject, e.time, e.data ${part} ${ordered} limit ${page * pageSize}::bigint)`,
  );
  // One beyond the page tells that there is a next one. Null is no limit.
  const max = countedMax === null ? null : Math.max(countedMax, page * pageSize + 1);
  const counts = parts.map((part) => sql`(select count(*) from (select ${part} limit ${max}::bigint) counted)`);
  const rows = await inTurn(() =>
    rowsOf<EventRow & { readonly total: number; readonly has_logins: boolean }>(
      pool,
      'reading events of a node',
      sql`
      with page as (select * from (${join(heads, sql` union all `)}) e ${ordered} limit ${pageSize}::bigint offset ${(page - 1) * pageSize}::bigint)
      select e.txid::text as txid, e.seq::text as seq, e.id, e.type, e.subject, e.time, e.data, total::float8 as total, ${HAS_LOGINS} as has_logins
      from (select least(${join(counts, sql` + `)}, ${max}::bigint) as total) counted left join page e on true ${ordered}`,
    ),
  );
  if (types?.includes(LOGIN_EVENT_TYPE) === true && rows[0]?.has_logins !== true) return NO_LOGINS_YET;
  // Without a row on the page there is one that has the count alone.
  return ok({ rows: rows.filter(({ id }) => id !== null).map(storedEvent), totalCount: rows[0]?.total ?? 0 });
}

const NO_LOGINS_YET = refuse(
  'service_unavailable',
  'Logins cannot be listed yet: the index that finds them is being made. Ask for other types, or again later.',
);

/** What is wanted of each index. */
function partsOf(types: readonly EventType[] | null): readonly Sql[] {
  if (types === null) return [OWN, LOGINS];
  const own = types.filter((type) => type !== LOGIN_EVENT_TYPE);
  const ofOwn = sql`${OWN} and e.type = any(${own}::text[])`;
  if (own.length === types.length) return [ofOwn];
  return own.length === 0 ? [LOGINS] : [ofOwn, LOGINS];
}
