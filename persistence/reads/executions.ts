/** The list of command executions. */
import { LISTS, type Filter } from '../../actors/filters.ts';
import { isTerminal, type ExecutionResource, type ExecutionStatus } from '../../actors/resources/command.ts';
import { all, condition } from './conditions.ts';
import type { Reading, Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

/**
 * Output in one page of a list, in bytes: 8 times the largest single output by default, so that a page of 100 cannot
 * ask for 100 MiB (L2).
 * From the row that passes it on, `output` is null and `output_withheld` true; single reads always carry all of it.
 */
export const PAGE_OUTPUT_BYTES_MAX = 8_388_608;

export const EXECUTIONS: Source<ExecutionResource> = {
  spec: LISTS.command_executions,
  counted: 'command_execution',
  table: sql`command_execution e`,
  id: sql`e.id`,
  joinCluster: sql``,
  fields: {
    status: { column: sql`e.status`, matches: statusIn },
    command_id: { column: sql`e.command_id` },
    node_id: { column: sql`e.node_id` },
    cluster_name: { column: sql`e.cluster_name` },
    has_cluster: {
      matches: ({ value }) => (value === true ? sql`exists (${ITS_CLUSTER})` : sql`not exists (${ITS_CLUSTER})`),
    },
    target_all: { column: sql`e.target_all` },
    exit_code: { column: sql`e.exit_code` },
    has_output: { column: sql`coalesce(e.output <> '', false)` },
    output: { column: sql`e.output` },
    expired_at: { column: sql`e.expired_at` },
    sent_at: { column: sql`e.sent_at` },
    completed_at: { column: sql`e.completed_at`, matches: completedAt },
    cancelled_at: { column: sql`e.cancelled_at` },
    inserted_at: { column: sql`e.inserted_at`, creation: true },
    updated_at: { column: sql`e.updated_at` },
  },
  narrow: {
    does: ({ field, value }) =>
      field === 'command_id' ||
      field === 'node_id' ||
      (field === 'status' && !(value as readonly ExecutionStatus[]).some(isTerminal)),
    words: 'command_id or node_id, or status=pending,sent for what is not over',
  },
  creation: [sql`e.id`], // UUID v7: the primary key is in order of creation
  resources,
};

/** Of executions only the name of their cluster is kept: it may be gone. */
const ITS_CLUSTER = sql`select from cluster c where c.name = e.cluster_name`;

/** Whatever was completed ended then, and when it ended has an index. */
function completedAt(filter: Filter): Sql {
  const of = (column: Sql): Sql => condition('time', { column }, filter);
  return all([of(sql`e.completed_at`), of(sql`e.finished_at`)]);
}

/** The open ones have an index of their own, which the planner takes only when told that none is finished. */
function statusIn({ value }: Filter): Sql {
  const statuses = value as readonly ExecutionStatus[];
  return statuses.some(isTerminal)
    ? sql`e.status = any(${statuses}::text[])`
    : sql`(e.finished_at is null and e.status = any(${statuses}::text[]))`;
}

async function resources({ pool }: Reading, ids: readonly string[], single: boolean): Promise<ExecutionResource[]> {
  const budget = single ? Number.MAX_SAFE_INTEGER : PAGE_OUTPUT_BYTES_MAX;
  // octet_length reads the length of a large text without the text; the window runs in the order of the page.
  const rows = await rowsOf<RowOf<typeof ExecutionResource>>(
    pool,
    'reading executions',
    sql`
    select e.id, e.command_id, e.node_id, e.cluster_name, m.command_text, m.timeout, e.status, e.exit_code, e.output_truncated, e.target_all,
      case when e.budgeted <= ${budget}::bigint then e.output end as output, e.budgeted > ${budget}::bigint and e.output is not null as output_withheld,
      e.expired_at, e.sent_at, e.completed_at, e.cancelled_at, e.inserted_at, e.updated_at
    from (select x.*, page.place, sum(coalesce(octet_length(x.output), 0)) over (order by page.place) as budgeted
          from unnest(${ids}::uuid[]) with ordinality as page (id, place) join command_execution x on x.id = page.id) e
    join command m on m.id = e.command_id order by e.place`,
  );
  return rows.map(withIsoTimes);
}
