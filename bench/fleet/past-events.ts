/** A week of events, put straight into the database, oldest first. */
import type { Client } from 'pg';
import { NEXT_TRANSACTION, readPartitions } from '../../persistence/event-partitions/partitions.ts';

/** Events of one transaction, and rows of a statement. */
const EVENTS_PER_TRANSACTION = 4;
const ROWS_PER_STATEMENT = 500_000;

/** How long ago the first one was stored, in days. */
export const PAST_DAYS = 8;

/** As the events of an execution of a short script are, some 500 characters. */
const DATA = JSON.stringify({
  command_text: 'systemctl is-active edge-agent && uptime --pretty',
  targeting_type: 'all',
  cluster_name: 'bench-0',
  filler: 'x'.repeat(360),
});

/**
 * Inserts so many: three of four of executions, one of a node of 1,000. Where events lie in partitions, they lie in as
 * many as there would be, each of half a day; what is stored afterwards comes behind them.
 */
export async function insertPastEvents(client: Client, count: number): Promise<void> {
  await client.query('set statement_timeout = 0; set synchronous_commit = off');
  const transactions = Math.ceil(count / EVENTS_PER_TRANSACTION);
  await makeRoom(client, transactions);
  for (let from = 0; from < count; from += ROWS_PER_STATEMENT)
    await client.query({
      text: `insert into event (txid, id, type, subject, time, data, stored_at)
        select (i / ${EVENTS_PER_TRANSACTION} + 1)::text::xid8, gen_random_uuid(),
          case i % 4 when 0 then 'edge.node.status_changed' else 'edge.command_execution.completed' end,
          case i % 4 when 0 then ('00000000-0000-4000-8000-' || lpad(to_hex(i / 4 % 1000), 12, '0'))::uuid else gen_random_uuid() end, at, $4::json, at
        from generate_series($1::bigint, $2::bigint - 1) as i, lateral (select now() - (1 - i::float8 / $3::float8) * interval '${PAST_DAYS} days') as t (at)`,
      values: [from, Math.min(count, from + ROWS_PER_STATEMENT), count, DATA],
    });
  await client.query('reset synchronous_commit');
  await client.query('vacuum analyze event');
}

/** The next transaction of the database comes behind those of the past. */
async function makeRoom(client: Client, transactions: number): Promise<void> {
  const partitions = await readPartitions(client as never);
  if (partitions !== null) {
    const first = partitions.all[0]?.to ?? 0n;
    await client.query('drop table event_before');
    const parts = PAST_DAYS * 2;
    const bounds = Array.from({ length: parts + 1 }, (_, at) => BigInt(Math.ceil((transactions * at) / parts)));
    const end = bounds[parts] ?? 0n;
    for (const [at, from] of [...bounds.entries()].slice(0, parts)) {
      const to = bounds[at + 1] ?? end;
      const last = to === end && end < first ? first : to; // those made since then stand behind the first one
      await client.query(
        `create table event_from_${from} partition of event for values from ('${from}') to ('${last}')`,
      );
    }
  }
  await client.query(
    `update database_incarnation set xid_base = xid_base + greatest(0, $1::bigint - (${NEXT_TRANSACTION.texts.join('')}))`,
    [transactions + 10],
  );
}
