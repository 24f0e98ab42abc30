/** Lists of self-update requests, and of their nodes. */
import { LISTS, type Filter } from '../../actors/filters.ts';
import type { Pool } from 'pg';
import {
  SELF_UPDATE_RESULTS,
  type SelfUpdateProgress,
  type SelfUpdateRequestResource,
  type SelfUpdateResult,
  type SelfUpdateResultResource,
} from '../../actors/resources/self-update.ts';
import { pageTargetings } from './page-targetings.ts';
import { wavesOf } from './self-update-waves.ts';
import type { Reading, Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql } from './sql.ts';

/** The list of requests. */
export const SELF_UPDATE_REQUESTS: Source<SelfUpdateRequestResource> = {
  spec: LISTS.self_update_requests,
  counted: null,
  table: sql`self_update_request r`,
  id: sql`r.id`,
  joinCluster: sql``,
  fields: {
    status: { column: sql`r.status` },
    inserted_at: { column: sql`r.inserted_at`, creation: true },
    updated_at: { column: sql`r.updated_at` },
  },
  creation: [sql`r.id`], // UUID v7: the primary key is in order of creation
  resources: requests,
};

async function requests(
  { pool }: Reading,
  ids: readonly string[],
  single: boolean,
): Promise<SelfUpdateRequestResource[]> {
  const rows = await rowsOf<RowOf<typeof SelfUpdateRequestResource, 'progress' | 'wave_count' | 'waves' | 'next'>>(
    pool,
    'reading self-update requests',
    sql`
    select r.id, page.targeting, r.batch_size, r.max_failures, r.health_timeout_ms / 1000 as health_timeout, r.status,
      case when r.status = 'completed' then json_build_object('total', r.total, 'triggered', r.triggered, 'failed', r.failed) end as summary, r.inserted_at, r.updated_at
    from ${pageTargetings(sql`self_update_request`, ids, single)} page join self_update_request r on r.id = page.id order by page.place`,
  );
  const id = ids[0] ?? '';
  const more = single ? { progress: await progressOf(pool, id), ...(await wavesOf(pool, id)) } : {};
  return rows.map((row) => ({ ...withIsoTimes(row), ...more }));
}

async function progressOf(pool: Pool, request: string): Promise<SelfUpdateProgress> {
  const rows = await rowsOf<{ status: SelfUpdateResult; count: number }>(
    pool,
    'counting nodes of a self-update request',
    sql`
    select case when state = 'due' then 'waiting' else state end as status, count(*)::int as count
    from self_update_node where request_id = ${request}::uuid group by 1`,
  );
  const counts = new Map(rows.map(({ status, count }) => [status, count]));
  const all = SELF_UPDATE_RESULTS.map((status) => [status, counts.get(status) ?? 0]);
  return Object.fromEntries(all) as Record<SelfUpdateResult, number>;
}

/** That its turn has come is not shown. */
const SHOWN_STATUS = sql`case when u.state = 'due' then 'waiting' else u.state end`;

/**
 * The list of the nodes of one request. A row has no id of its own: it is that of the request with that of the node.
 */
export const SELF_UPDATE_RESULTS_SOURCE: Source<SelfUpdateResultResource> = {
  spec: LISTS.self_update_results,
  counted: null,
  table: sql`self_update_node u`,
  id: sql`u.request_id || ' ' || u.node_id`,
  joinCluster: sql``,
  fields: {
    id: { column: sql`u.request_id` },
    node_id: { column: sql`u.node_id` },
    status: {
      column: SHOWN_STATUS, // also by which it is sorted
      matches: ({ value }: Filter) => {
        const statuses = value as readonly string[];
        return sql`u.state = any(${statuses.includes('waiting') ? [...statuses, 'due'] : statuses}::text[])`;
      },
    },
    wave: { column: sql`u.wave` },
  },
  creation: [sql`u.request_id`, sql`u.node_id`],
  resources: results,
};

async function results({ pool }: Reading, ids: readonly string[]): Promise<SelfUpdateResultResource[]> {
  const keys = ids.map((id) => id.split(' '));
  const rows = await rowsOf<RowOf<typeof SelfUpdateResultResource>>(
    pool,
    'reading results of self-updates',
    sql`
    select u.node_id, u.cluster_name, ${SHOWN_STATUS} as status, u.wave, u.from_version, u.to_version, u.error, u.triggered_at, u.finished_at
    from unnest(${keys.map(([request]) => request)}::uuid[], ${keys.map(([, node]) => node)}::uuid[]) with ordinality as page (request, node, place)
      join self_update_node u on u.request_id = page.request and u.node_id = page.node order by page.place`,
  );
  return rows.map(withIsoTimes);
}
