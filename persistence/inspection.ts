/**
 * Looking at the database from outside: its size and tables, what waits in it, who holds what. For the debug dashboard;
 * every call rejects with DatabaseUnavailable.
 */
import type { Pool } from 'pg';
import type { DatabaseSnapshot } from '../actors/inspection.ts';
import { BEHIND_CHANNEL } from './reads/events.ts';
import { rowsOf, sql } from './reads/sql.ts';
import { taskHolders, type TaskHolder } from './reads/task-holders.ts';

/** Rows of each list that are shown. */
const ROWS_MAX = 100;

/**
 * Looks into the database behind this pool. `backlogMax`: events of a channel are counted up to this. `hasBroker`:
 * events are published to one.
 */
export function createDatabaseInspection(
  pool: Pool,
  backlogMax: number,
): (hasBroker: boolean) => Promise<DatabaseSnapshot> {
  return async (hasBroker) => {
    const [server, tables, channels, tasks, leases, admins] = await Promise.all([
      rowsOf<Pick<DatabaseSnapshot, 'version' | 'bytes' | 'connections' | 'longestTransactionMs' | 'waitingForLocks'>>(
        pool,
        'looking at the server',
        sql`
        select current_setting('server_version') as version, pg_database_size(current_database())::float8 as bytes, count(*)::int as connections,
          coalesce(max(extract(epoch from clock_timestamp() - xact_start)) filter (where xact_start is not null and pid <> pg_backend_pid()) * 1000, 0)::float8 as "longestTransactionMs",
          count(*) filter (where wait_event_type = 'Lock')::int as "waitingForLocks"
        from pg_stat_activity where datname = current_database()`,
      ),
      rowsOf<DatabaseSnapshot['tables'][number]>(
        pool,
        'looking at tables',
        sql`
        select relname as name, n_live_tup::float8 as rows, n_dead_tup::float8 as "deadRows", pg_total_relation_size(relid)::float8 as bytes, seq_scan::float8 as "sequentialScans", coalesce(idx_scan, 0)::float8 as "indexScans"
        from pg_stat_user_tables order by bytes desc limit ${ROWS_MAX}::int`,
      ),
      rowsOf<DatabaseSnapshot['channels'][number]>(
        pool,
        'looking at channels',
        sql`
        select c.name, a.name as admin, c.epoch::float8 as epoch, (extract(epoch from c.lease_until - clock_timestamp()) * 1000)::float8 as "leaseMs",
          (select count(*) from (select 1 from event e where ${BEHIND_CHANNEL} limit ${backlogMax}::int) waiting)::int as backlog
        from event_channel c left join admin a on a.id = c.admin_id order by c.name limit ${ROWS_MAX}::int`,
      ),
      rowsOf<TaskHolder>(pool, 'looking who does what', taskHolders(hasBroker)),
      rowsOf<DatabaseSnapshot['leases'][number] & { total: number }>(
        pool,
        'looking at leases',
        sql`
        select c.name as cluster, (select count(*) from node n where n.cluster_id = c.id)::int as nodes, a.name as admin, o.epoch::float8 as epoch,
          (extract(epoch from clock_timestamp() - o.owned_since) * 1000)::float8 as "ownedMs", (extract(epoch from o.lease_until - clock_timestamp()) * 1000)::float8 as "leaseMs", count(*) over ()::int as total
        from cluster_ownership o join cluster c on c.id = o.cluster_id left join admin a on a.id = o.admin_id order by o.lease_until, c.name limit ${ROWS_MAX}::int`,
      ),
      rowsOf<DatabaseSnapshot['admins'][number]>(pool, 'looking at admins', ADMINS),
    ]);
    const [first] = server;
    if (first === undefined) throw new Error('The server says nothing of itself.');
    return {
      ...first,
      pool: { open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount },
      tables,
      channels,
      tasks,
      leases: leases.map(({ total: _total, ...lease }) => lease),
      leaseCount: leases[0]?.total ?? 0,
      admins,
    };
  };
}

const ADMINS = sql`
  select a.name, a.version, (extract(epoch from clock_timestamp() - a.last_checked_in) * 1000)::float8 as "seenMs",
    (extract(epoch from clock_timestamp() - i.draining_since) * 1000)::float8 as "drainingMs",
    (select count(*) from cluster_ownership o where o.admin_id = a.id and o.lease_until > clock_timestamp())::int as clusters
  from admin a left join admin_identity i on i.name = a.name order by a.name limit ${ROWS_MAX}::int`;
