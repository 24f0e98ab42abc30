/** The list of commands. */
import { LISTS } from '../../actors/filters.ts';
import type { CommandResource } from '../../actors/resources/command.ts';
import { EMPTY_SUMMARY } from '../../actors/command/state.ts';
import { pageTargetings } from './page-targetings.ts';
import type { Reading, Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

export const COMMANDS: Source<CommandResource> = {
  spec: LISTS.commands,
  counted: 'command',
  table: sql`command m`,
  id: sql`m.id`,
  joinCluster: sql``,
  fields: {
    command_text: { column: sql`m.command_text` },
    has_timeout: { column: sql`(m.timeout is not null)` },
    has_expired_at: { column: sql`(m.expired_at is not null)` },
    has_open: { column: has(sql`e.finished_at is null`) },
    has_failed: { column: has(sql`e.status = 'completed' and e.exit_code <> 0`) },
    timeout: { column: sql`m.timeout` },
    expired_at: { column: sql`m.expired_at` },
    inserted_at: { column: sql`m.inserted_at`, creation: true },
    updated_at: { column: sql`m.updated_at` },
  },
  creation: [sql`m.id`], // UUID v7: the primary key is in order of creation
  resources,
};

/** Whether a command has an execution of some kind. */
function has(condition: Sql): Sql {
  return sql`(m.id in (select e.command_id from command_execution e where ${condition}))`;
}

async function resources(
  { pool, summaries }: Reading,
  ids: readonly string[],
  single: boolean,
): Promise<CommandResource[]> {
  const [rows, counts] = await Promise.all([
    rowsOf<RowOf<typeof CommandResource, 'summary'>>(
      pool,
      'reading commands',
      sql`
      select m.id, m.command_text, page.targeting, m.timeout, m.expired_at, m.inserted_at, m.updated_at
      from ${pageTargetings(sql`command`, ids, single)} page join command m on m.id = page.id order by page.place`,
    ),
    summaries(ids),
  ]);
  return rows.map(withIsoTimes).map(({ inserted_at, updated_at, ...row }) => ({
    ...row,
    summary: counts.get(row.id) ?? EMPTY_SUMMARY,
    inserted_at,
    updated_at,
  }));
}
