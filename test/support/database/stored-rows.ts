/** Rows that a test needs beside those that it is about, with everything that it does not speak of filled in. */
import type { Pool, PoolClient } from 'pg';
import { v7 } from 'uuid';

/** Commands on all nodes, of these ids, made now or then. */
export async function storeCommands(pool: Pool | PoolClient, ids: readonly string[], at = new Date()): Promise<void> {
  await pool.query(
    `insert into command (id, command_text, targeting, inserted_at, updated_at) select id, 'x', '{"type":"all"}', $2, $2 from unnest($1::uuid[]) as id`,
    [ids, at],
  );
}

/** So many executions that wait for this node, each of a command of its own. */
export async function storeWaiting(pool: Pool | PoolClient, node: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => v7());
  await storeCommands(pool, ids);
  await pool.query(
    `insert into command_execution (id, command_id, node_id, cluster_name, target_all, inserted_at, updated_at) select uuidv7(), id, $2, 'c', true, now(), now() from unnest($1::uuid[]) as id`,
    [ids, node],
  );
}

/** Events of tests, of so long ago and stored then, as an interval. */
export async function storeEvents(pool: Pool | PoolClient, count: number, ago = '0 s'): Promise<void> {
  await pool.query(
    `insert into event (id, type, subject, time, data, stored_at) select gen_random_uuid(), 'edge.core.test', gen_random_uuid(), now() - $1::interval, '{}', now() - $1::interval from generate_series(1, $2)`,
    [ago, count],
  );
}

/** A cluster that nobody owns, and its id. The number makes its ranges its own. */
export async function storeCluster(
  pool: Pool | PoolClient,
  name: string,
  {
    number = 1,
    nodes = 0,
    ...ranges
  }: { number?: number; nodes?: number; ipv4Range?: string; ipv6Range?: string } = {},
): Promise<string> {
  const id = v7();
  const { ipv4Range = `10.9.${number}.0/24`, ipv6Range = `fd00:9:9:${number}::/64` } = ranges;
  await pool.query(
    'insert into cluster (id, name, ipv4_range, ipv6_range, node_count, inserted_at, updated_at) values ($1, $2, $3, $4, $5, now(), now())',
    [id, name, ipv4Range, ipv6Range, nodes],
  );
  return id;
}

/** An admin, started and heard so many seconds ago, and its id. */
export async function storeAdmin(
  pool: Pool | PoolClient,
  name: string,
  { id = v7(), version = '1.0.0', startedAgo = 3_600, heardAgo = -600 } = {},
): Promise<string> {
  await pool.query(
    `insert into admin (id, name, url, admin_cluster_name, version, max_wireguard_peers, started_at, last_checked_in)
    values ($1, $2, 'http://x', 'default', $3, 1, clock_timestamp() - $4 * interval '1 s', clock_timestamp() - $5 * interval '1 s')`,
    [id, name, version, startedAgo, heardAgo],
  );
  return id;
}
