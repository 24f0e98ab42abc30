/** Changes of rows that no actor holds. */
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import type { StoredEvent } from '../../actors/events.ts';
import type { Records } from '../../api/ports.ts';
import { isTerminal, type ExecutionStatus } from '../../actors/resources/command.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import type { SelfUpdateStatus } from '../../actors/resources/self-update.ts';
import { eventCursor } from '../reads/events.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { recordingRows } from '../ssh/recordings.ts';
import { inTransaction } from '../connections/transaction.ts';

/** The Records port over this pool. */
export function createRecords(pool: Pool): Records {
  return {
    deleteExecution: (id) =>
      inTransaction(pool, 'deleting an execution', async (client) => {
        const [row] = await rowsOf<{ status: ExecutionStatus }>(
          client,
          'deleting an execution',
          sql`select status from command_execution where id = ${id}::uuid for update`,
        );
        if (row === undefined) return refuse('not_found', 'Resource not found');
        if (!isTerminal(row.status))
          return refuse('conflict', `The execution is ${row.status}. Cancel it before deleting it.`);
        await client.query('delete from command_execution where id = $1', [id]);
        return ok(null);
      }),
    deleteSelfUpdate: (id) =>
      inTransaction(pool, 'deleting a self-update request', async (client) => {
        const [row] = await rowsOf<{ status: SelfUpdateStatus }>(
          client,
          'deleting a self-update request',
          sql`select status from self_update_request where id = ${id}::uuid for update`,
        );
        if (row === undefined) return refuse('not_found', 'Resource not found');
        if (row.status !== 'completed')
          return refuse('conflict', `The request is ${row.status}. It can be deleted when it is completed.`);
        await client.query('delete from self_update_node where request_id = $1', [id]);
        await client.query('delete from self_update_request where id = $1', [id]);
        return ok(null);
      }),
    publish: (event) => publish(pool, event),
    ...recordingRows(pool),
  };
}

async function publish(pool: Pool, event: DomainEvent): Promise<StoredEvent> {
  const id = randomUUID(); // version 4, as of every event
  const time = new Date(event.atMs).toISOString();
  const [row] = await rowsOf<{ txid: string; seq: string }>(
    pool,
    'storing an event',
    sql`
    insert into event (id, type, subject, time, data) values (${id}::uuid, ${event.type}, ${event.subject}::uuid, ${time}::timestamptz, ${JSON.stringify(event.data)}::json)
    returning txid::text as txid, seq::text as seq`,
  );
  if (row === undefined) throw new Error('The event was stored without a place.');
  return {
    cursor: eventCursor(row.txid, row.seq),
    id,
    type: event.type,
    subject: event.subject,
    time,
    data: event.data,
  };
}
