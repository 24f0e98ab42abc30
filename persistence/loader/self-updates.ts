/** Self-updates as actors know them: requests with their counts, and what is under way for nodes. */
import type { Pool } from 'pg';
import { NO_UPDATES, type AskedUpdate, type DueUpdate, type NodeUpdates } from '../../actors/node/updates-state.ts';
import type { SelfUpdateStatus } from '../../actors/resources/self-update.ts';
import { ANSWER_MS_MAX, OPEN_SELF_UPDATES_MAX, TOLD_AGAIN_AFTER_MS } from '../../actors/self-update/limits.ts';
import {
  uncounted,
  type CountedSelfUpdate,
  type SelfUpdateCounts,
  type SelfUpdateRecord,
  type SelfUpdateState,
} from '../../actors/self-update/state.ts';
import type { Targeting } from '../../actors/targeting-schema.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { ms } from '../reads/record-rows.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** What `selfUpdateRecord` wants of a request. */
export interface SelfUpdateRow {
  readonly id: string;
  readonly targeting: Targeting;
  readonly batch_size: number | null;
  readonly max_failures: number | null;
  readonly health_timeout_ms: number;
  readonly inserted_at: Date | string;
}

/** A request's row as its record. */
export function selfUpdateRecord(row: SelfUpdateRow): SelfUpdateRecord {
  return {
    id: row.id,
    targeting: row.targeting,
    batchSize: row.batch_size,
    maxFailures: row.max_failures,
    healthTimeoutMs: row.health_timeout_ms,
    insertedAtMs: ms(new Date(row.inserted_at)),
  };
}

/** A request as its actor begins with it; null: there is none. */
export async function selfUpdateState(pool: Pool, id: string): Promise<SelfUpdateState | null> {
  const [row] = await rowsOf<SelfUpdateRow>(
    pool,
    'loading a self-update request',
    sql`select id, targeting, batch_size, max_failures, health_timeout_ms, inserted_at from self_update_request where id = ${id}::uuid`,
  );
  return row === undefined ? null : uncounted(id, selfUpdateRecord(row));
}

interface CountRow extends SelfUpdateCounts {
  readonly id: string;
  readonly revision: number;
  readonly status: SelfUpdateStatus;
}

/** Whether a node (`u`) takes a place of its batch: its turn has come, and it is not judged yet. */
export const UNDER_WAY = sql`(u.state = 'due' or u.state in ('triggered', 'updated') and u.judged_at is null)`;

/** What the rows of these requests say, in one statement; null: there is no such request. */
export async function countSelfUpdates(
  pool: Pool,
  ids: readonly string[],
): Promise<readonly (CountedSelfUpdate | null)[]> {
  const rows = await rowsOf<CountRow>(
    pool,
    'counting nodes of self-updates',
    sql`
    select r.id, r.revision, r.status,
      (count(*) filter (where u.state = 'waiting'))::int as waiting, (count(*) filter (where u.state = 'due'))::int as due,
      (count(*) filter (where u.state in ('failed', 'rolled_back')))::int as failures, count(u.triggered_at)::int as triggered,
      (count(*) filter (where ${UNDER_WAY}))::int as "inFlight",
      (count(*) filter (where n.id is null and u.judged_at is null and u.state in ('waiting', 'due', 'triggered', 'updated')
        or u.state = 'due' and u.due_at < clock_timestamp() - ${ANSWER_MS_MAX}::int * interval '1 ms'
        or r.batch_size is not null and u.judged_at is null and u.state in ('triggered', 'updated')
          and (u.triggered_at < clock_timestamp() - r.health_timeout_ms * interval '1 ms' or u.state = 'updated' and n.status = 'healthy')))::int as ripe,
      (count(*) filter (where u.state = 'due' and u.due_at < clock_timestamp() - ${TOLD_AGAIN_AFTER_MS}::int * interval '1 ms'))::int as quiet
    from self_update_request r join self_update_node u on u.request_id = r.id left join node n on n.id = u.node_id
    where r.id = any(${ids}::uuid[]) group by r.id`,
  );
  const found = new Map(rows.map(({ id, revision, status, ...counts }) => [id, { revision, status, counts }]));
  return ids.map((id) => found.get(id) ?? null);
}

/** Requests that are not completed. */
export async function openSelfUpdates(pool: Pool): Promise<readonly string[]> {
  const rows = await rowsOf<{ id: string }>(
    pool,
    'finding open self-update requests',
    sql`select id from self_update_request where status <> 'completed'`,
  );
  return rows.map(({ id }) => id);
}

/** A column of `node n`: its turns, newest first, and the update whose outcome is not known; null: there is nothing. */
export const UPDATES_COLUMN = sql`(select json_agg(x) from (
    select u.request_id as request, u.state, coalesce(u.from_version, n.version) as "fromVersion", extract(epoch from u.due_at)::float8 * 1000 as "dueAtMs", u.asked_at is not null as "isAsked"
    from self_update_node u where u.node_id = n.id and u.finished_at is null and u.state in ('due', 'triggered')
    order by u.state, u.due_at desc limit ${OPEN_SELF_UPDATES_MAX + 1}::int) x) as updates`;

/** An element of that column. */
export interface UpdateRow extends DueUpdate {
  readonly state: 'due' | 'triggered';
}

/** What is under way for a node. */
export function nodeUpdates(rows: readonly UpdateRow[] | null): NodeUpdates {
  if (rows === null) return NO_UPDATES;
  const due = rows
    .filter(({ state }) => state === 'due')
    .map(({ state: _state, ...due }): AskedUpdate => ({ ...due, asked: null }));
  const last = rows.find(({ state }) => state === 'triggered');
  return {
    due,
    triggered: last === undefined ? null : { request: last.request, fromVersion: last.fromVersion },
  };
}

/** A node whose turn has come. */
export interface DueNode extends DueUpdate {
  readonly node: NodeId;
}

/** Nodes of this admin whose turn has come in these requests; null: in any. */
export function dueNodes(
  pool: Pool,
  adminId: string,
  requests: readonly string[] | null,
  limit: number,
): Promise<readonly DueNode[]> {
  return rowsOf<DueNode>(
    pool,
    'looking for nodes to update',
    sql`
    select u.node_id as node, u.request_id as request, coalesce(u.from_version, n.version) as "fromVersion", extract(epoch from u.due_at)::float8 * 1000 as "dueAtMs", u.asked_at is not null as "isAsked"
    from self_update_request r join self_update_node u on u.request_id = r.id and u.state = 'due'
      join node n on n.id = u.node_id join cluster_ownership w on w.cluster_id = n.cluster_id and w.admin_id = ${adminId}::uuid
    where r.status <> 'completed' and (${requests}::uuid[] is null or r.id = any(${requests}::uuid[])) limit ${limit}::int`,
  );
}
