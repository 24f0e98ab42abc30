/** Sweeps that end open executions: past their expiry, or with no node left to run them. */
import type { Pool, PoolClient } from 'pg';
import { MAX, NIL } from 'uuid';
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { insertEvents } from '../committer/event-rows.ts';
import { WakeUps, type WakeUpOptions } from '../committer/wake-ups.ts';
import { tellEnded } from '../admins/admin-messages.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { inTransaction } from '../connections/transaction.ts';
import { CHOSEN, isFull, takenExecutions } from './execution-batch.ts';
import { EXECUTION_COLUMNS, executionEvent, type ExecutionRow } from './timestamps.ts';

/** An execution that a sweep ended. Its node and its command are to be told. */
export interface EndedExecution {
  readonly execution: ExecutionId;
  readonly command: CommandId;
  readonly node: NodeId;
  readonly clusterName: string;
  readonly status: 'expired' | 'dropped';
  /** As it stood: an execution dropped has none. */
  readonly exitCode: null;
}

/** One batch of them. */
export interface EndedBatch {
  readonly executions: readonly EndedExecution[];
  /** There may be more. */
  readonly isFull: boolean;
}

/**
 * Marks at most `limit` pending or sent executions whose expiry is past as expired, with their events, in one
 * transaction.
 * Rows that another transaction holds are left for the next time: a result that is being stored wins. So are rows that
 * a transaction with a higher id changed and committed before this one came to them: its event would be read after
 * ours, though it came first (V2). Its output parts go with it.
 * The other admins are told: only the owner of a node has the session by which its process is ended (C7).
 */
export async function expireDue(pool: Pool, now: Sql, options: WakeUpOptions, limit: number): Promise<EndedBatch> {
  return inTransaction(pool, 'expiring executions', async (client) => {
    const rows = await rowsOf<ExecutionRow & { readonly chosen: number }>(
      client,
      'expiring executions',
      sql`
      with ${takenExecutions(sql`expired_at`, due(now), limit)},
      e as (
        update command_execution x set status = 'expired', finished_at = ${now}, updated_at = ${now} from taken where x.id = taken.id returning x.*)
      select ${EXECUTION_COLUMNS}, ${CHOSEN} from e join command m on m.id = e.command_id order by e.id`,
    );
    await insertEvents(
      client,
      rows.map((row) => executionEvent('edge.command_execution.expired', row, row.updated_at)),
    );
    await dropParts(client, rows);
    const pairs = rows.map(({ id, node_id }) => [node_id, id] as const);
    await tellEnded(client, options.adminId, pairs); // admins of before hear nothing else
    await new WakeUps(options).ofEnded(client, pairs);
    return { executions: rows.map((row) => ended(row, 'expired')), isFull: isFull(rows, limit) };
  });
}

function due(now: Sql): Sql {
  return sql`finished_at is null and expired_at is not null and expired_at <= ${now} and age(xmin) > age(pg_current_xact_id()::xid)`;
}

/**
 * The ids between two nodes that are neighbours in their order: no node has them. A look for what is open there costs
 * by the nodes that there are, and not by what waits for them.
 */
const GAPS = sql`(select lag(id, 1, ${NIL}::uuid) over (order by id) as above, id as below from (select id from node union all select ${MAX}::uuid) n) gap`;

/**
 * Marks at most `limit` open executions whose node no longer exists as dropped. They come from a create that committed
 * just behind the deletion of its node. No event tells of these.
 */
export async function dropOrphans(pool: Pool, now: Sql, limit: number): Promise<EndedBatch> {
  return inTransaction(pool, 'dropping executions without a node', async (client) => {
    const rows = await rowsOf<ExecutionRow>(
      client,
      'dropping executions without a node',
      sql`
      with orphan as (
        select found.id from ${GAPS} cross join lateral (
          select id from command_execution where finished_at is null and node_id > gap.above and node_id < gap.below order by node_id limit ${limit}::int for update skip locked) found
        limit ${limit}::int)
      update command_execution e set status = 'dropped', finished_at = ${now}, updated_at = ${now} from orphan where e.id = orphan.id
      returning e.id, e.command_id, e.node_id, e.cluster_name`,
    );
    await dropParts(client, rows);
    return { executions: rows.map((row) => ended(row, 'dropped')), isFull: rows.length >= limit };
  });
}

/** The same of one node that was deleted, found by its own index. */
export async function dropOf(pool: Pool, now: Sql, node: NodeId, limit: number): Promise<EndedBatch> {
  return inTransaction(pool, 'dropping the executions of a deleted node', async (client) => {
    const rows = await rowsOf<ExecutionRow>(
      client,
      'dropping the executions of a deleted node',
      sql`
      with orphan as (
        select id from command_execution where node_id = ${node}::uuid and finished_at is null and not exists (select from node where id = ${node}::uuid)
        order by id limit ${limit}::int for update skip locked)
      update command_execution e set status = 'dropped', finished_at = ${now}, updated_at = ${now} from orphan where e.id = orphan.id
      returning e.id, e.command_id, e.node_id, e.cluster_name`,
    );
    await dropParts(client, rows);
    return { executions: rows.map((row) => ended(row, 'dropped')), isFull: rows.length >= limit };
  });
}

function ended(
  row: Pick<ExecutionRow, 'id' | 'command_id' | 'node_id' | 'cluster_name'>,
  status: EndedExecution['status'],
): EndedExecution {
  return {
    execution: row.id,
    command: row.command_id,
    node: row.node_id,
    clusterName: row.cluster_name,
    status,
    exitCode: null,
  };
}

async function dropParts(client: PoolClient, rows: readonly { readonly id: ExecutionId }[]): Promise<void> {
  if (rows.length > 0)
    await client.query('delete from execution_output_part where execution_id = any($1::uuid[])', [
      rows.map(({ id }) => id),
    ]);
}
