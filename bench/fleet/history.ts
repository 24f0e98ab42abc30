/** A long past, put straight into the database: finished commands with their executions. */
import type { Client } from 'pg';

/** Executions a command of the past has. */
const EXECUTIONS_PER_COMMAND = 1_000;

/** Rows a statement: keeps the memory of the triggers' transition tables small. */
const ROWS_PER_STATEMENT = 100_000;

/**
 * Inserts finished executions with 200 bytes of output on nodes 0 … nodes - 1. Ids are UUID v7 that tell the time of
 * creation, as the product makes them, one execution a millisecond, up to now.
 */
export async function insertHistory(client: Client, executions: number, nodes: number): Promise<void> {
  const commands = Math.ceil(executions / EXECUTIONS_PER_COMMAND);
  await client.query(
    `create temporary table past as
    select c, uuidv7((c - $1::int) * $2::int * interval '1 ms') as id from generate_series(0, $1::int - 1) as c`,
    [commands, EXECUTIONS_PER_COMMAND],
  );
  await client.query(`insert into command (id, command_text, targeting, inserted_at, updated_at)
    select id, 'true', '{"type":"all"}', uuid_extract_timestamp(id), uuid_extract_timestamp(id) from past`);
  for (let from = 0; from < executions; from += ROWS_PER_STATEMENT) {
    await client.query(
      `insert into command_execution (id, command_id, node_id, cluster_name, target_all, status, exit_code, output, sent_at, completed_at, finished_at, inserted_at, updated_at)
      select uuidv7((i - $1::int) * interval '1 ms'), past.id, ('00000000-0000-4000-8000-' || lpad(to_hex(i % $2::int), 12, '0'))::uuid, 'bench-' || (i % $2::int) / 100, true,
        'completed', 0, repeat('x', 200), t, t, t, t, t
      from generate_series($3::int, $4::int - 1) as i join past on past.c = i / $5::int, lateral (select now() + (i - $1::int) * interval '1 ms') as at (t)`,
      [executions, nodes, from, Math.min(executions, from + ROWS_PER_STATEMENT), EXECUTIONS_PER_COMMAND],
    );
  }
  await client.query('vacuum analyze');
}
