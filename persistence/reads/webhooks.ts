/** The list of webhooks. */
import { LISTS } from '../../actors/filters.ts';
import type { EventType } from '../../actors/events.ts';
import type { WebhookResource } from '../../actors/resources/webhook.ts';
import { iso, type Reading, type Source } from './source.ts';
import { rowsOf, sql } from './sql.ts';

/** The list of webhooks, of which there are at most WEBHOOKS_MAX. */
export const WEBHOOKS: Source<WebhookResource> = {
  spec: LISTS.webhooks,
  counted: null,
  table: sql`webhook w`,
  id: sql`w.id`,
  joinCluster: sql``,
  fields: {
    url: { column: sql`w.url` },
    event_type: { matches: ({ value }) => sql`${value}::text = any(w.subscribed_events)` },
    inserted_at: { column: sql`w.inserted_at`, creation: true },
    updated_at: { column: sql`w.updated_at` },
  },
  creation: [sql`w.id`], // UUID v7: the primary key is in order of creation
  resources,
};

interface WebhookRow {
  readonly id: string;
  readonly url: string;
  readonly subscribed_events: readonly EventType[];
  readonly inserted_at: Date;
  readonly updated_at: Date;
}

/** Secret and headers are not even read (E4). */
async function resources({ pool }: Reading, ids: readonly string[]): Promise<WebhookResource[]> {
  const rows = await rowsOf<WebhookRow>(
    pool,
    'reading webhooks',
    sql`
    select w.id, w.url, w.subscribed_events, w.inserted_at, w.updated_at from unnest(${ids}::uuid[]) with ordinality as page (id, place) join webhook w on w.id = page.id order by page.place`,
  );
  return rows.map((row) => ({ ...row, inserted_at: iso(row.inserted_at), updated_at: iso(row.updated_at) }));
}
