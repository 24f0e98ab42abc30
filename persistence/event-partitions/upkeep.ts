/**
 * Keeps the events in partitions of some hours each: makes the next one before it is needed, and drops those whose
 * events are kept no longer, which costs nothing however many there are.
 */
import type { Pool } from 'pg';
import { isLockedOut } from '../connections/availability.ts';
import { inOneMessage } from '../connections/transaction.ts';
import { settledBefore } from '../reads/events.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import {
  NEXT_TRANSACTION,
  PARTITION_LOCK_MS_MAX,
  readPartitions,
  type EventPartition,
  type EventPartitions,
} from './partitions.ts';
import { SET_ASIDE_MS_MAX, setAside } from './set-aside.ts';

/** Partitions in the time for which events are kept: each of half a day where that is a week. */
export const PARTITIONS_OF_RETENTION = 14;

/** Transactions that a partition is for: as many as there are in its time, by what there was lately, within these. */
export const TRANSACTIONS_MIN = 65_536;
export const TRANSACTIONS_MAX = 1_073_741_824;

const DAY_MS = 86_400_000;

/** While it is not known how many there are in a time. */
const TRANSACTIONS_AT_FIRST = 1_048_576;

/** How long there must have been events to tell it by them, in ms. */
const MEASURED_MS_MIN = 600_000;

/**
 * Where none was made for so long that the next transaction is for none, the new one begins so many transactions later:
 * those until then, of some minutes at least, are left to the default one.
 */
const LEAD = 16_384;

/** A partition is for at most so many times as many transactions as the one before: load that comes may go again. */
const GROWTH_MAX = 4;

/** Partitions made in one look. */
const MADE_MAX = 16;

/**
 * SQLSTATEs of a partition that is there already: its name is taken, its bounds are those of another, or both are made
 * at once.
 */
const ALREADY_MADE = new Set(['42P07', '42P17', '23505']);

/**
 * What lies in the default partition is looked through each time that another is made, and nobody reads events
 * meanwhile. Above this size, in bytes, it is set aside first, once, and an empty one takes its place.
 */
export const AHEAD_BYTES_MAX = 67_108_864;

/**
 * Makes partitions while there is less than half of one ahead. False: somebody reads the events in one long
 * transaction, such as a backup, another admin does the same, or the default one is too large and cannot be set aside:
 * it is tried again later.
 * `retentionDays` is how long events are kept.
 */
export async function keepAhead(
  pool: Pool,
  retentionDays: number,
  { aheadBytesMax = AHEAD_BYTES_MAX, setAsideMsMax = SET_ASIDE_MS_MAX } = {},
): Promise<boolean> {
  const transactions = await transactionsIn(pool, (retentionDays * DAY_MS) / PARTITIONS_OF_RETENTION);
  for (let made = 0; made < MADE_MAX; made += 1) {
    const partitions = await readPartitions(pool);
    const last = partitions?.all.at(-1);
    if (partitions === null || (last !== undefined && last.to - partitions.next >= transactions / 2n)) return true;
    const from = last !== undefined && last.to > partitions.next ? last.to : partitions.next + BigInt(LEAD);
    if ((await aheadBytes(pool)) > aheadBytesMax) {
      if (!(await unlessHindered(pool, partitions, () => setAside(pool, partitions, from, setAsideMsMax))))
        return false;
      continue;
    }
    const before = last === undefined || last.from === null ? BigInt(TRANSACTIONS_AT_FIRST) : last.to - last.from;
    const width = minOf(transactions, before * BigInt(GROWTH_MAX));
    if (!(await unlessHindered(pool, partitions, () => make(pool, from, from + width)))) return false;
  }
  return true;
}

/**
 * Drops the oldest partition if its events, of which the newest stand last, were all stored before this instant and no
 * transaction can add any. True: it was, and the next one may be as old.
 */
export async function dropOldest(pool: Pool, before: Sql): Promise<boolean> {
  const partitions = await readPartitions(pool);
  const oldest = partitions?.all[0];
  if (partitions === null || oldest === undefined || !(await isOver(pool, oldest, before))) return false;
  return unlessHindered(pool, partitions, () => drop(pool, oldest.name));
}

/** How many there were in so much time lately; see the bounds above. Those of an incarnation before lie far below. */
async function transactionsIn(pool: Pool, ms: number): Promise<bigint> {
  const [row] = await rowsOf<{ count: number | null; ms: number | null }>(
    pool,
    'measuring how many transactions there are',
    sql`
    with next as materialized (select ${NEXT_TRANSACTION} as id)
    select (n.id - e.txid::text::bigint)::float8 as count, (extract(epoch from now() - coalesce(e.stored_at, e.time)) * 1000)::float8 as ms
    from next n, lateral (
      select * from event where txid >= greatest(0, n.id - ${TRANSACTIONS_AT_FIRST}::bigint)::text::xid8 order by event.txid, event.seq limit 1) e`,
  );
  const { count, ms: measuredMs } = row ?? { count: null, ms: null };
  if (count === null || measuredMs === null || measuredMs < MEASURED_MS_MIN) return BigInt(TRANSACTIONS_AT_FIRST);
  const inTime = Math.round((count / measuredMs) * ms);
  return BigInt(Math.min(TRANSACTIONS_MAX, Math.max(TRANSACTIONS_MIN, inTime)));
}

/** Nobody waits for the index of a table without rows, and writers of others do not wait at all. */
async function make(pool: Pool, from: bigint, to: bigint): Promise<void> {
  const name = `event_from_${from}`;
  await inOneMessage(
    pool,
    'making a partition of the events',
    `set local lock_timeout = ${PARTITION_LOCK_MS_MAX}; create table ${name} (like event including defaults);
    alter table event attach partition ${name} for values from ('${from}') to ('${to}')`,
  );
}

/** Another admin may have dropped it just now. */
async function drop(pool: Pool, name: string): Promise<void> {
  await inOneMessage(
    pool,
    'dropping a partition of the events',
    `set local lock_timeout = ${PARTITION_LOCK_MS_MAX}; drop table if exists ${name}`,
  );
}

/** One without events is over as soon as nobody can store any in it. */
async function isOver(pool: Pool, { from, to }: EventPartition, before: Sql): Promise<boolean> {
  if (BigInt(await settledBefore(pool)) < to) return false;
  const [row] = await rowsOf<{ over: boolean | null }>(
    pool,
    'looking at the oldest events',
    sql`
    with newest as materialized (
      select coalesce(stored_at, time) as at from event where txid >= ${(from ?? 0n).toString()}::xid8 and txid < ${to.toString()}::xid8 order by txid desc, seq desc limit 1)
    select case when exists (select from newest) then (select at < ${before} from newest) else true end as over`,
  );
  return row?.over === true;
}

/**
 * False: not now. Somebody has the table, or another admin did the same since `seen` was read; where all partitions are
 * as they were, what stands in the way is no admin's, and is thrown.
 */
async function unlessHindered(
  pool: Pool,
  seen: EventPartitions,
  change: () => Promise<boolean | void>,
): Promise<boolean> {
  try {
    return (await change()) !== false;
  } catch (error) {
    if (isLockedOut(error)) return false;
    if (ALREADY_MADE.has(String((error as { code?: unknown }).code)) && !isSame(await readPartitions(pool), seen))
      return false;
    throw error;
  }
}

function isSame(now: EventPartitions | null, seen: EventPartitions): boolean {
  const namesOf = ({ all }: EventPartitions): string => all.map(({ name }) => name).join();
  return now !== null && namesOf(now) === namesOf(seen);
}

async function aheadBytes(pool: Pool): Promise<number> {
  const [row] = await rowsOf<{ bytes: number }>(
    pool,
    'looking at the default partition of events',
    sql`select pg_relation_size('event_ahead')::float8 as bytes`,
  );
  return row?.bytes ?? 0;
}

function minOf(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
