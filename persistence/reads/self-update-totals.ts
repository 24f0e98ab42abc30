/** What self-update requests come to as a whole, for metrics. */
import type { SelfUpdateNodeState, SelfUpdateStatus, SelfUpdateTotals } from '../../actors/resources/self-update.ts';
import { ANSWER_MS_MAX } from '../../actors/self-update/limits.ts';
import { sql } from './sql.ts';

/** A row that `selfUpdateTotals` makes totals of. */
export interface SelfUpdateTotalsRow {
  readonly requests: Partial<Record<SelfUpdateStatus, number>> | null;
  readonly nodes: Partial<Record<SelfUpdateNodeState, number>> | null;
  readonly overdue: number;
}

/**
 * Selects one. Of a request that is open, what has to come next has its time: an answer, or health, by its limit; where
 * nothing is under way, or a batch has room, the next turn at once. `overdue`: so many s since the first of these
 * times.
 */
export const SELF_UPDATE_TOTALS = sql`
  with node_of as (
    select r.id, r.batch_size, r.health_timeout_ms, r.updated_at, u.state, u.due_at, u.triggered_at, u.judged_at, u.finished_at,
      u.state = 'due' or r.batch_size is not null and u.state in ('triggered', 'updated') and u.judged_at is null as under_way
    from self_update_request r join self_update_node u on u.request_id = r.id where r.status <> 'completed'),
  request as (
    select bool_or(state = 'waiting') and (batch_size is null or count(*) filter (where under_way) < batch_size) or not bool_or(under_way) as is_next_now,
      greatest(updated_at, max(due_at), max(triggered_at), max(judged_at), max(finished_at)) as changed_at,
      min(case when state = 'due' then due_at + ${ANSWER_MS_MAX}::int * interval '1 ms' else triggered_at + health_timeout_ms * interval '1 ms' end)
        filter (where under_way) as ends_at
    from node_of group by id, batch_size, health_timeout_ms, updated_at)
  select (select json_object_agg(status, count) from (select status, count(*)::int as count from self_update_request group by status) counted) as requests,
    (select json_object_agg(state, count) from (select state, count(*)::int as count from node_of group by state) counted) as nodes,
    coalesce((select greatest(0, max(extract(epoch from clock_timestamp() - case when is_next_now then changed_at else ends_at end))) from request), 0)::float8 as overdue`;

/** All of them at zero. */
const NO_REQUESTS: SelfUpdateTotals['requests'] = { pending: 0, processing: 0, completed: 0 };
const NO_NODES: SelfUpdateTotals['nodes'] = {
  waiting: 0,
  due: 0,
  triggered: 0,
  updated: 0,
  rolled_back: 0,
  failed: 0,
  skipped: 0,
};

/** Statuses and states that no row has are zeros. */
export function selfUpdateTotals({ requests, nodes, overdue }: SelfUpdateTotalsRow): SelfUpdateTotals {
  return { requests: { ...NO_REQUESTS, ...requests }, nodes: { ...NO_NODES, ...nodes }, overdueS: overdue };
}
