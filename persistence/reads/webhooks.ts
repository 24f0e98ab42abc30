/** The list of webhooks. */
import { LISTS } from '../../actors/filters.ts';
import type { WebhookResource } from '../../actors/resources/webhook.ts';
import type { Reading, Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { timestamp } from './conditions.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

/** Since when the delivery waits that is next: an index has it first. */
const WAITING_SINCE = sql`(select d.inserted_at from webhook_delivery d where d.webhook_id = w.id and d.status = 'pending' order by d.event_txid, d.event_seq limit 1)`;

/** Whether one was dropped then or later, Unix ms. An index has those that were dropped at all. */
function droppedSince(ms: number): Sql {
  return sql`(w.id in (select d.webhook_id from webhook_delivery d where d.status = 'dropped' and d.updated_at >= ${timestamp(ms)}::timestamptz))`;
}

/** The list of webhooks, of which there are at most WEBHOOKS_MAX. */
export const WEBHOOKS: Source<WebhookResource> = {
  spec: LISTS.webhooks,
  counted: null,
  table: sql`webhook w`,
  id: sql`w.id`,
  joinCluster: sql``,
  fields: {
    url: { column: sql`w.url` },
    waiting_since: { column: WAITING_SINCE },
    dropped_at: { matches: ({ value }) => droppedSince(Number(value)) },
    event_type: { matches: ({ value }) => sql`${value}::text = any(w.subscribed_events)` },
    inserted_at: { column: sql`w.inserted_at`, creation: true },
    updated_at: { column: sql`w.updated_at` },
  },
  creation: [sql`w.id`], // UUID v7: the primary key is in order of creation
  resources,
};

/** Secret and headers are not even read (E4). */
async function resources({ pool }: Reading, ids: readonly string[]): Promise<WebhookResource[]> {
  const rows = await rowsOf<RowOf<typeof WebhookResource>>(
    pool,
    'reading webhooks',
    sql`
    select w.id, w.url, w.subscribed_events, w.inserted_at, w.updated_at from unnest(${ids}::uuid[]) with ordinality as page (id, place) join webhook w on w.id = page.id order by page.place`,
  );
  return rows.map(withIsoTimes);
}
