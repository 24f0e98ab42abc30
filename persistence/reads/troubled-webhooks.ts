/** Which webhooks are in trouble: bounded, and found by indexes. */
import type { PoolClient } from 'pg';
import {
  OVERVIEW_DELIVERIES_COUNTED_MAX,
  OVERVIEW_RECENT_MS,
  OVERVIEW_WAITING_MS,
  OVERVIEW_WEBHOOKS_MAX,
  type OverviewWebhook,
  type OverviewWebhooks,
} from '../../actors/resources/overview.ts';
import { timestamp } from './conditions.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

/**
 * Of deliveries that a webhook gave up, so many of those made last are looked at: no index has when that was, and a
 * thousand webhooks are looked at in one answer.
 */
export const DROPPED_LOOKED_AT_MAX = 100;

/**
 * The delivery of this webhook that waits and is next, as a table. What is sent again by hand is none: it is as old as
 * its event, and has one try, for which it waits at once. No more than REDELIVERIES_MAX are passed over for that.
 */
export function nextWaiting(webhook: Sql): Sql {
  return sql`(select d.inserted_at, d.last_status_code, d.last_error from webhook_delivery d
    where d.webhook_id = ${webhook} and d.status = 'pending' and (d.attempt_count = 0 or d.next_attempt_at is not null)
    order by d.event_txid, d.event_seq limit 1)`;
}

/** Whether this webhook gave up one then or later, Unix ms, of the DROPPED_LOOKED_AT_MAX made last of those. */
export function droppedSince(webhook: Sql, ms: number): Sql {
  return sql`exists (select from ${latestDropped(webhook, DROPPED_LOOKED_AT_MAX)} l where l.updated_at >= ${timestamp(ms)}::timestamptz)`;
}

/** How many are at this time, and OVERVIEW_WEBHOOKS_MAX of them. Rejects with DatabaseUnavailable. */
export async function troubledWebhooks(client: PoolClient, at: Date): Promise<OverviewWebhooks> {
  const waitingTo = new Date(at.getTime() - OVERVIEW_WAITING_MS);
  const droppedMs = at.getTime() - OVERVIEW_RECENT_MS;
  const rows = await rowsOf<NamedRow>(
    client,
    'reading the overview',
    sql`
    with troubled as materialized (
      select * from (
        select w.id, w.url, case when n.inserted_at <= ${waitingTo}::timestamptz then n.inserted_at end as waiting_since,
          n.last_status_code, n.last_error, ${droppedSince(sql`w.id`, droppedMs)} as has_dropped
        from webhook w left join lateral ${nextWaiting(sql`w.id`)} n on true) w
      where waiting_since is not null or has_dropped),
    named as (select * from troubled order by waiting_since, id limit ${OVERVIEW_WEBHOOKS_MAX}::int)
    select (select count(waiting_since)::int from troubled) as all_waiting, (select count(*) filter (where has_dropped)::int from troubled) as all_dropped,
      w.id, w.url, w.waiting_since, waits.count as waiting, case when w.has_dropped then gone.count else 0 end as dropped,
      coalesce(case when w.waiting_since is not null then w.last_status_code end, latest.last_status_code) as last_status_code,
      coalesce(case when w.waiting_since is not null then w.last_error end, latest.last_error) as last_error
    from named w
      cross join lateral (select count(*)::int as count from (
        select from webhook_delivery d where d.webhook_id = w.id and d.status = 'pending' limit ${OVERVIEW_DELIVERIES_COUNTED_MAX}::int) p) waits
      cross join lateral (select count(*)::int as count from ${latestDropped(sql`w.id`, OVERVIEW_DELIVERIES_COUNTED_MAX)} l
        where l.updated_at >= ${timestamp(droppedMs)}::timestamptz) gone
      left join lateral (select * from ${latestDropped(sql`w.id`, DROPPED_LOOKED_AT_MAX)} l
        where l.updated_at >= ${timestamp(droppedMs)}::timestamptz order by l.updated_at desc limit 1) latest
        on w.waiting_since is null or coalesce(w.last_status_code::text, w.last_error) is null
    order by w.waiting_since, w.id`,
  );
  return {
    waiting: rows[0]?.all_waiting ?? 0,
    dropped: rows[0]?.all_dropped ?? 0,
    deliveries_counted_max: OVERVIEW_DELIVERIES_COUNTED_MAX,
    named: rows.map(webhookOf),
  };
}

type NamedRow = Omit<OverviewWebhook, 'waiting_since'> & {
  readonly waiting_since: Date | null;
  readonly all_waiting: number;
  readonly all_dropped: number;
};

function webhookOf({ all_waiting: _waiting, all_dropped: _dropped, ...row }: NamedRow): OverviewWebhook {
  return { ...row, waiting_since: row.waiting_since?.toISOString() ?? null };
}

/** Of what this webhook gave up, so many that were made last, as a table. */
function latestDropped(webhook: Sql, max: number): Sql {
  return sql`(select d.updated_at, d.last_status_code, d.last_error from webhook_delivery d
    where d.webhook_id = ${webhook} and d.status = 'dropped' order by d.id desc limit ${max}::int)`;
}
