/**
 * Sweeps that delete what has been kept long enough, each in one bounded batch. They say how much they took, so that
 * the caller goes on while there is more.
 */
import type { Pool } from 'pg';
import type { Pruned } from '../../supervisors/sweep-port.ts';
import type { CommandId } from '../../transport/protocol/ids.ts';
import { insertEvents } from '../committer/event-rows.ts';
import { IDEMPOTENCY_RECORD_HOURS } from '../committer/idempotency-records.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { inTransaction } from '../connections/transaction.ts';
import { CHOSEN, isFull, takenExecutions } from './execution-batch.ts';
import { EXECUTION_COLUMNS, executionEvent, type ExecutionRow } from './timestamps.ts';

/** Deletes at most `limit` executions that ended before this instant, with their events. */
export async function pruneExecutions(pool: Pool, now: Sql, before: Sql, limit: number): Promise<Pruned> {
  return inTransaction(pool, 'pruning executions', async (client) => {
    const rows = await rowsOf<ExecutionRow & { readonly now: Date; readonly chosen: number }>(
      client,
      'pruning executions',
      sql`
      with ${takenExecutions(sql`finished_at`, sql`finished_at < ${before}`, limit)},
      e as (delete from command_execution x using taken where x.id = taken.id returning x.*)
      select ${EXECUTION_COLUMNS}, ${now} as now, ${CHOSEN} from e join command m on m.id = e.command_id order by e.id`,
    );
    await insertEvents(
      client,
      rows.map((row) => executionEvent('edge.command_execution.pruned', row, row.now)),
    );
    return {
      count: rows.length,
      isFull: isFull(rows, limit),
      notices: rows.length > 0 ? [{ type: 'events-stored' }] : [],
    };
  });
}

/**
 * Deletes at most `limit` commands made before this instant that have no execution left, or never had one. Their ids,
 * which tell when they were made, have an index; an id of later than its row keeps it until then.
 */
export async function pruneCommands(pool: Pool, before: Sql, limit: number): Promise<Pruned> {
  const rows = await rowsOf<{ id: CommandId }>(
    pool,
    'pruning commands',
    sql`
    delete from command where id in (
      select m.id from command m where m.id < ${firstIdAt(before)} and m.inserted_at < ${before} and not exists (select from command_execution e where e.command_id = m.id)
      order by m.id limit ${limit}::int for update skip locked) returning id`,
  );
  return {
    count: rows.length,
    isFull: rows.length >= limit,
    notices: rows.map(({ id }) => ({ type: 'command-removed', command: id })),
  };
}

/**
 * So many of the oldest events are looked at for old ones, without those stamped in the future. They lie in the order
 * in which they were stored, so what is old stands first, but for what an admin with a clock of its own stamped:
 * versions before 0.2 did, which stored no `stored_at`. Some 25 ms where none is old.
 */
const EVENTS_LOOKED_AT_MAX = 50_000;

/**
 * Deletes at most `limit` events that were stored before this instant. Those stamped later than `now` hold nothing up.
 * Returns how many.
 */
export function pruneEvents(pool: Pool, now: Sql, before: Sql, limit: number): Promise<number> {
  return deleted(
    pool,
    'pruning events',
    sql`
    with old as (
      select txid, seq from (select txid, seq, coalesce(stored_at, time) as at from event where coalesce(stored_at, time) <= ${now} order by txid, seq limit ${EVENTS_LOOKED_AT_MAX}::int) looked_at
      where at < ${before} limit ${limit}::int)
    delete from event x using old o where x.txid = o.txid and x.seq = o.seq returning 1`,
  );
}

/**
 * Forgets at most `limit` answers that are no longer promised, and none whose place another takes now. Returns how
 * many.
 */
export function pruneIdempotencyRecords(pool: Pool, now: Sql, limit: number): Promise<number> {
  return deleted(
    pool,
    'forgetting remembered answers',
    sql`
    delete from idempotency_key where (scope, key) in (
      select scope, key from idempotency_key where inserted_at < ${now} - make_interval(hours => ${IDEMPOTENCY_RECORD_HOURS}::int) order by inserted_at limit ${limit}::int for update skip locked) returning 1`,
  );
}

/**
 * Deletes output parts, of at most `limit` executions, that no open execution waits for: it ended otherwise while they
 * arrived. Returns how many.
 */
export function pruneOutputParts(pool: Pool, limit: number): Promise<number> {
  return deleted(
    pool,
    'pruning output parts',
    sql`
    delete from execution_output_part where execution_id in (
      select distinct p.execution_id from execution_output_part p
      where not exists (select from command_execution e where e.id = p.execution_id and e.finished_at is null) limit ${limit}::int) returning 1`,
  );
}

/** Deletes at most `limit` deliveries that were finished before this instant, with their tries. Returns how many. */
export function pruneDeliveries(pool: Pool, before: Sql, limit: number): Promise<number> {
  return deleted(
    pool,
    'pruning deliveries',
    sql`
    with old as (
        delete from webhook_delivery where id in (select id from webhook_delivery where id < ${firstIdAt(before)} and status <> 'pending' and updated_at < ${before} order by id limit ${limit}::int for update skip locked) returning id),
      tries as (delete from webhook_attempt a using old where a.delivery_id = old.id)
    select 1 from old`,
  );
}

/** The lowest UUID v7 of an instant: ids below it are older. */
export function firstIdAt(at: Sql): Sql {
  return sql`(lpad(to_hex(greatest(0, trunc(extract(epoch from ${at}) * 1000))::bigint), 12, '0') || '70008000000000000000')::uuid`;
}

/** Deletes at most `limit` deliveries whose webhook was deleted, with their tries. Returns how many. */
export function pruneOrphanDeliveries(pool: Pool, limit: number): Promise<number> {
  return deleted(
    pool,
    'pruning deliveries without a webhook',
    sql`
    with recursive known as (
        (select webhook_id from webhook_delivery order by webhook_id limit 1)
        union all select (select d.webhook_id from webhook_delivery d where d.webhook_id > k.webhook_id order by d.webhook_id limit 1) from known k where k.webhook_id is not null),
      old as (
        delete from webhook_delivery where id in (
          select d.id from known k join webhook_delivery d on d.webhook_id = k.webhook_id where not exists (select from webhook w where w.id = k.webhook_id) limit ${limit}::int) returning id),
      tries as (delete from webhook_attempt a using old where a.delivery_id = old.id)
    select 1 from old`,
  );
}

/**
 * Recordings that are deleted at once, in bytes: each is up to thousands of rows of its own, and a thousand long ones
 * take longer than a statement may.
 */
export const PRUNED_RECORDING_BYTES_MAX = 67_108_864;

/**
 * Deletes the first recordings of SSH sessions that were stored before this instant, at most `limit`, and as many as
 * have `bytesMax` together, the first one always. Their sizes are read, and not what they hold.
 */
export async function pruneRecordings(
  pool: Pool,
  before: Sql,
  limit: number,
  bytesMax = PRUNED_RECORDING_BYTES_MAX,
): Promise<Pruned> {
  const rows = await rowsOf<{ readonly chosen: number }>(
    pool,
    'pruning recordings',
    sql`
    with chosen as materialized (
        select id, inserted_at, octet_length(content) as bytes from ssh_recording where inserted_at < ${before} order by inserted_at, id limit ${limit}::int for update skip locked),
      sized as (
        select id, sum(bytes) over in_order as bytes, row_number() over in_order as place from chosen
        window in_order as (order by inserted_at, id rows unbounded preceding))
    delete from ssh_recording x using sized s where x.id = s.id and (s.bytes <= ${bytesMax}::bigint or s.place = 1) returning ${CHOSEN}`,
  );
  return { count: rows.length, isFull: isFull(rows, limit), notices: [] };
}

/**
 * Deletes at most `limit` nodes of self-update requests that were completed before this instant, and the requests that
 * have none any more. Returns how many nodes.
 */
export async function pruneSelfUpdates(pool: Pool, before: Sql, limit: number): Promise<number> {
  const nodes = await deleted(
    pool,
    'pruning results of self-updates',
    sql`
    delete from self_update_node where (request_id, node_id) in (
      select u.request_id, u.node_id from self_update_request r join self_update_node u on u.request_id = r.id where r.completed_at < ${before} limit ${limit}::int) returning 1`,
  );
  await deleted(
    pool,
    'pruning self-update requests',
    sql`
    delete from self_update_request where id in (
      select r.id from self_update_request r where r.completed_at < ${before} and not exists (select from self_update_node u where u.request_id = r.id)
      order by r.id limit ${limit}::int for update skip locked) returning 1`,
  );
  return nodes;
}

/** A file of a release that nothing names goes after so many hours: until then an upload, or a machine, may go on. */
const RELEASE_FILE_HOURS = 24;

/** Files of releases in one batch: each is up to a thousand rows. */
const RELEASE_FILES_MAX = 4;

/** Deletes files of releases that no published metadata names. Returns how many, as rows of a batch. */
export function pruneReleaseFiles(pool: Pool, now: Sql): Promise<number> {
  return deleted(
    pool,
    'pruning files of releases',
    sql`
    with old as (
        delete from release_file where sha256 in (
          select f.sha256 from release_file f where f.updated_at < ${now} - make_interval(hours => ${RELEASE_FILE_HOURS}::int)
            and not exists (select from release_target t where t.sha256 = f.sha256) order by f.updated_at limit ${RELEASE_FILES_MAX}::int for update skip locked) returning sha256),
      chunks as (delete from release_chunk c using old where c.sha256 = old.sha256)
    select 1 from old`,
  );
}

/**
 * How long a public key outlives its expiry or its use, in minutes: an agent whose answer was lost asks again with it.
 */
const LOST_ANSWER_MINUTES = 10;

/**
 * Deletes at most `limit` public keys that expired, or let their node in, a while before `now`. Returns how many.
 */
export function prunePublicEnrollmentKeys(pool: Pool, now: Sql, limit: number): Promise<number> {
  return deleted(
    pool,
    'pruning public enrolment keys',
    sql`
    delete from enrollment_key where id in (
      select id from enrollment_key where is_public and (
        expired_at < ${now} - make_interval(mins => ${LOST_ANSWER_MINUTES}::int)
        or uses_remaining = 0 and last_used_at < ${now} - make_interval(mins => ${LOST_ANSWER_MINUTES}::int))
      limit ${limit}::int for update skip locked) returning 1`,
  );
}

async function deleted(pool: Pool, doing: string, statement: Sql): Promise<number> {
  return (await rowsOf(pool, doing, statement)).length;
}
