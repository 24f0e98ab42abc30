/** Commands as nodes hold them: what their executions need of them. */
import type { Pool } from 'pg';
import type { OpenCommand } from '../../actors/records.ts';
import type { CommandId } from '../../transport/protocol/ids.ts';
import { parseTraceparent } from '../../transport/protocol/trace-context.ts';
import { ms } from '../reads/record-rows.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';

/**
 * Scripts that one statement answers, in bytes: thousands of commands, each with a script of its own, may wait for the
 * nodes that are loaded at once. Some 50 ms; a single longer one goes alone.
 */
export const LOADED_SCRIPT_BYTES_MAX = 8_388_608;

/** Commands that one statement is asked for. */
const COMMANDS_MAX = 10_000;

/** Of `command`, but for whom it names and the script. */
const COLUMNS = sql`id, timeout, expired_at, traceparent, inserted_at`;

interface Row {
  readonly id: CommandId;
  readonly command_text: string;
  readonly timeout: number | null;
  readonly expired_at: Date | null;
  readonly traceparent: string | null;
  readonly inserted_at: Date;
}

/**
 * Commands by their id, without those that are gone. `ids`: whether each targets all, which its executions tell. Read
 * in as many statements as their scripts need. Rejects with DatabaseUnavailable.
 */
export async function openCommands(
  pool: Pool,
  ids: ReadonlyMap<CommandId, boolean>,
): Promise<ReadonlyMap<CommandId, OpenCommand>> {
  const commands = new Map<CommandId, OpenCommand>();
  let left = [...ids.keys()];
  while (left.length > 0) {
    const asked = left.slice(0, COMMANDS_MAX);
    const rows = await rowsOf<Row & { readonly found: number }>(pool, 'loading commands', firstOf(asked));
    for (const row of rows) commands.set(row.id, { ...plain(row), targetAll: ids.get(row.id) === true });
    const isAll = rows.length === (rows[0]?.found ?? 0);
    left = [...(isAll ? [] : asked.filter((id) => !commands.has(id))), ...left.slice(COMMANDS_MAX)];
  }
  return commands;
}

/** Those of the commands whose scripts fit, at least one, and how many there are. Sizes are read off the rows. */
function firstOf(ids: readonly CommandId[]): Sql {
  return sql`
    select ${COLUMNS}, command_text, found from (
      select ${COLUMNS}, command_text, (count(*) over ())::int as found,
        sum(octet_length(command_text)) over in_order as bytes, row_number() over in_order as place
      from command where id = any(${ids}::uuid[]) window in_order as (order by id rows unbounded preceding)) sized
    where bytes <= ${LOADED_SCRIPT_BYTES_MAX}::int or place = 1`;
}

function plain(row: Row): Omit<OpenCommand, 'targetAll'> {
  const trace = parseTraceparent(row.traceparent);
  return {
    id: row.id,
    text: row.command_text,
    timeoutMs: row.timeout,
    expiredAtMs: ms(row.expired_at),
    insertedAtMs: ms(row.inserted_at),
    ...(trace !== null && { trace }),
  };
}
