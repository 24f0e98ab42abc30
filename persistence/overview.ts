/**
 * What the console's overview counts. Each number is bounded, found by an index, and has a time limit of its own, so
 * that one that cannot be had leaves the others.
 */
import type { Pool, PoolClient } from 'pg';
import type { NodeStatus } from '../actors/resources/node.ts';
import {
  OVERVIEW_ADMINS_MAX,
  OVERVIEW_COUNTED_MAX,
  OVERVIEW_FAILURES_MAX,
  OVERVIEW_RECENT_MS,
  OVERVIEW_SCRIPT_CHARACTERS_MAX,
  type Overview,
  type OverviewFailure,
  type OverviewNodeTotals,
} from '../actors/resources/overview.ts';
import type { PeerAdmin } from '../api/admin-ports.ts';
import { monotonicMs } from '../transport/net/clock.ts';
import { kept } from '../transport/net/kept.ts';
import { listedAdmins } from './reads/peer-admins.ts';
import { rowsOf, sql, type Sql } from './reads/sql.ts';
import { troubledWebhooks } from './reads/troubled-webhooks.ts';
import { timedReads, type TimedRead } from './connections/timed-reads.ts';

/** What was read is told for so long to whoever asks, in ms: half of what lies between two questions of a page. */
export const OVERVIEW_KEPT_MS = 5_000;

/** The server gives up one number after this, in ms. */
export const OVERVIEW_READ_MS_MAX = 500;

/** No number is begun later than this after the first, in ms: all of them are, also where a whole table is locked. */
const OVERVIEW_READS_MS_MAX = 3_500;

/** Events are counted over this, in ms. */
const EVENTS_MS = 60_000;

/**
 * How many of the latest events are looked at, until one is older than EVENTS_MS: what is stored last stands last, and
 * no index has its time.
 */
const EVENTS_LOOKED_AT = [1_000, 10_000, OVERVIEW_COUNTED_MAX] as const;

/**
 * Of deliveries that were given up, those made last are looked at: no index has when that was, as each try would have
 * to keep it.
 */
const DROPPED_LOOKED_AT_MAX = 10_000;

const DOING = 'reading the overview';

/** Reads on this pool, at most once in OVERVIEW_KEPT_MS. Rejects with DatabaseUnavailable when the database is away. */
export function keptOverview(pool: Pool): () => Promise<Overview> {
  return kept(() => readOverview(pool), OVERVIEW_KEPT_MS, monotonicMs);
}

/** Reads one number after another, on one connection at a time, within 5 s. Rejects with DatabaseUnavailable. */
export async function readOverview(pool: Pool): Promise<Overview> {
  const read = timedReads(pool, DOING, { eachMs: OVERVIEW_READ_MS_MAX, allMs: OVERVIEW_READS_MS_MAX });
  const [now] = await rowsOf<{ at: Date }>(pool, DOING, sql`select clock_timestamp()::timestamptz(3) as at`);
  if (now === undefined) throw new Error('The database told no time.');
  const count = (rows: Sql): Promise<number | null> => read((client) => countOf(client, rows));
  const since = new Date(now.at.getTime() - OVERVIEW_RECENT_MS);
  const failed = sql`from command_execution e where e.exit_code >= 1 and e.completed_at >= ${since}::timestamptz`;
  return {
    as_of: now.at.toISOString(),
    counted_max: OVERVIEW_COUNTED_MAX,
    executions_failed: await count(sql`select ${failed}`),
    latest_failures: await read((client) => failures(client, failed)),
    executions_in_flight: await count(sql`select from command_execution where finished_at is null`),
    commands_in_flight: await count(sql`
      select distinct command_id from (select command_id from command_execution where finished_at is null limit ${OVERVIEW_COUNTED_MAX}::int) open`),
    events_stored: await eventsSince(read, new Date(now.at.getTime() - EVENTS_MS)),
    admins: await read(async (client) => named(await listedAdmins(client))),
    executions_completed: await count(
      sql`select from command_execution where finished_at >= ${since}::timestamptz and status = 'completed'`,
    ),
    deliveries_waiting: await count(sql`select from webhook_delivery where status = 'pending'`),
    deliveries_dropped: await count(sql`
      select from (select updated_at from webhook_delivery where status = 'dropped' order by id desc limit ${DROPPED_LOOKED_AT_MAX}::int) dropped
      where updated_at >= ${since}::timestamptz`),
    webhooks_in_trouble: await read((client) => troubledWebhooks(client, now.at)),
    node_totals: await read((client) => nodeTotals(client, since)),
  };
}

/** OVERVIEW_ADMINS_MAX of them, by name. */
function named(admins: readonly PeerAdmin[]): readonly PeerAdmin[] {
  const isIll = ({ problems }: PeerAdmin): boolean => (problems ?? []).length > 0;
  const first = [...admins.filter(isIll), ...admins.filter((admin) => !isIll(admin))].slice(0, OVERVIEW_ADMINS_MAX);
  return admins.filter((admin) => first.includes(admin));
}

async function countOf(client: PoolClient, rows: Sql): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(
    client,
    DOING,
    sql`select count(*)::int as count from (${rows} limit ${OVERVIEW_COUNTED_MAX}::int) counted`,
  );
  return row?.count ?? 0;
}

/** Of all nodes. Their table is read whole (0.15 s of 300,000), which the time limit alone bounds: it is read last. */
async function nodeTotals(client: PoolClient, since: Date): Promise<OverviewNodeTotals> {
  const rows = await rowsOf<{ status: NodeStatus; count: number; recent: number }>(
    client,
    DOING,
    sql`
    select status, count(*)::int as count, (count(*) filter (where status_since >= ${since}::timestamptz))::int as recent
    from node group by status`,
  );
  const of = (status: NodeStatus): OverviewNodeTotals[NodeStatus] => {
    const { count = 0, recent = 0 } = rows.find((row) => row.status === status) ?? {};
    return { count, recent };
  };
  return { healthy: of('healthy'), unhealthy: of('unhealthy'), unreachable: of('unreachable') };
}

async function failures(client: PoolClient, failed: Sql): Promise<readonly OverviewFailure[]> {
  const rows = await rowsOf<Omit<OverviewFailure, 'completed_at'> & { readonly completed_at: Date }>(
    client,
    DOING,
    sql`
    select f.id, f.command_id, f.node_id, left(m.command_text, ${OVERVIEW_SCRIPT_CHARACTERS_MAX}::int) as command_text, f.exit_code, f.completed_at
    from (select e.id, e.command_id, e.node_id, e.exit_code, e.completed_at ${failed} order by e.completed_at desc, e.id desc limit ${OVERVIEW_FAILURES_MAX}::int) f
    join command m on m.id = f.command_id order by f.completed_at desc, f.id desc`,
  );
  return rows.map((row) => ({ ...row, completed_at: row.completed_at.toISOString() }));
}

/** Events stored since then, up to OVERVIEW_COUNTED_MAX. What is looked at is ten times what is counted, at most. */
async function eventsSince(read: TimedRead, since: Date): Promise<number | null> {
  let counted: number | null = null;
  for (const lookedAt of EVENTS_LOOKED_AT) {
    const found = await read((client) => latestEvents(client, since, lookedAt));
    if (found === null) return null;
    counted = found.recent;
    if (found.isWhole) break;
  }
  return counted;
}

/** Whole: there are no others of that time. */
async function latestEvents(
  client: PoolClient,
  since: Date,
  lookedAt: number,
): Promise<{ readonly recent: number; readonly isWhole: boolean }> {
  const [row] = await rowsOf<{ recent: number; found: number; is_last_old: boolean | null }>(
    client,
    DOING,
    sql`
    with latest as materialized (
      select coalesce(stored_at, time) >= ${since}::timestamptz as is_recent, txid, seq from event order by txid desc, seq desc limit ${lookedAt}::int)
    select (count(*) filter (where is_recent))::int as recent, count(*)::int as found,
      (select not is_recent from latest order by txid, seq limit 1) as is_last_old from latest`,
  );
  if (row === undefined) return { recent: 0, isWhole: true };
  return { recent: row.recent, isWhole: row.found < lookedAt || row.is_last_old === true };
}
