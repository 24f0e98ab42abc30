/**
 * Makes the default partition of the events one with bounds, and an empty one the default, so that others can be made
 * again without looking through what lay there. No constraint that outlives this is needed: none is left behind by
 * whatever ends it, to refuse writes later.
 */
import type { Pool } from 'pg';
import { isOvertime } from '../connections/availability.ts';
import { inOneMessage, inTransaction } from '../connections/transaction.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { PARTITION_LOCK_MS_MAX, type EventPartitions } from './partitions.ts';

/**
 * How long it may take to look through the default partition, in ms: first while others write, and if that takes no
 * longer, once more while they wait.
 */
export const SET_ASIDE_MS_MAX = 1_000;

/** SQLSTATE of a row that does not lie within the bounds: it came just now. */
const CHECK_VIOLATION = '23514';

/**
 * Sets the default partition aside: its rows go on as a partition from the first of them to the next partition, or to
 * `end` where there is none. False: it has no rows, other partitions lie between them, or it takes too long to look
 * through; nothing is changed then. Throws what `isLockedOut` knows while somebody reads the events for long.
 */
export async function setAside(
  pool: Pool,
  { all }: EventPartitions,
  end: bigint,
  msMax = SET_ASIDE_MS_MAX,
): Promise<boolean> {
  const held = await heldAhead(pool);
  if (held === null) return false; // vacuum gives its room back
  const to = all.find(({ from }) => from !== null && from > held.first)?.from ?? end;
  if (held.last >= to) return false;
  try {
    await lookThrough(pool, msMax);
    await swap(pool, held.first, to, msMax);
    return true;
  } catch (error) {
    if (isOvertime(error) || (error as { code?: unknown }).code === CHECK_VIOLATION) return false;
    throw error;
  }
}

async function heldAhead(pool: Pool): Promise<{ readonly first: bigint; readonly last: bigint } | null> {
  const [row] = await rowsOf<{ first: string | null; last: string | null }>(
    pool,
    'looking which events lie in the default partition',
    sql`
    select (select txid::text from event_ahead order by event_ahead.txid, event_ahead.seq limit 1) as first,
      (select txid::text from event_ahead order by event_ahead.txid desc, event_ahead.seq desc limit 1) as last`,
  );
  const { first, last } = row ?? { first: null, last: null };
  return first === null || last === null ? null : { first: BigInt(first), last: BigInt(last) };
}

/** As attaching does: one after the other, by the table itself. What is read now is found in memory then. */
async function lookThrough(pool: Pool, msMax: number): Promise<void> {
  await inTransaction(pool, 'looking through the default partition of events', async (client) => {
    await client.query(
      `set local statement_timeout = ${msMax}; set local max_parallel_workers_per_gather = 0; set local enable_indexscan = off; set local enable_indexonlyscan = off; set local enable_bitmapscan = off`,
    );
    await client.query(`select count(*) from event_ahead where txid >= '0' and data is not null`);
  });
}

/** In one message: nobody waits for round trips. Attaching looks whether all lies within the bounds. */
async function swap(pool: Pool, from: bigint, to: bigint, msMax: number): Promise<void> {
  const name = `event_from_${from}`;
  await inOneMessage(
    pool,
    'setting the default partition of events aside',
    `set local lock_timeout = ${PARTITION_LOCK_MS_MAX}; set local statement_timeout = ${msMax};
    do $$ begin
      alter table event detach partition event_ahead;
      alter table event_ahead rename to ${name};
      alter table event attach partition ${name} for values from ('${from}') to ('${to}');
      create table event_ahead partition of event default;
    end $$`,
  );
}
