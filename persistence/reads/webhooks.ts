/** The list of webhooks. */
import { LISTS } from '../../actors/filters.ts';
import type { WebhookResource } from '../../actors/resources/webhook.ts';
import type { Reading, Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql } from './sql.ts';
import { droppedSince, nextWaiting } from './troubled-webhooks.ts';

/** The list of webhooks, of which there are at most WEBHOOKS_MAX. */
export const WEBHOOKS: Source<WebhookResource> = {
  spec: LISTS.webhooks,
  counted: null,
  table: sql`webhook w`,
  id: sql`w.id`,
  joinCluster: sql``,
  fields: {
    url: { column: sql`w.url` },
    waiting_since: { column: sql`(select next.inserted_at from ${nextWaiting(sql`w.id`)} next)` },
    dropped_at: { matches: ({ value }) => droppedSince(sql`w.id`, Number(value)) },
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
