/** When nodes were last heard: the only thing that an idle fleet writes, in one statement a round. */
import type { Pool } from 'pg';
import { asUnavailable } from './availability.ts';

/** Stores the times. Best effort: a lost round is made good by the next. */
export async function storePresence(
  pool: Pool,
  heard: readonly { readonly node: string; readonly atMs: number }[],
): Promise<void> {
  if (heard.length === 0) return;
  try {
    await pool.query({
      name: 'store-presence',
      // Rows that another transaction holds are left out: waiting for them, while holding others, would be a deadlock
      // with a batch of status changes.
      text: `with free as materialized (select id from node where id = any($1::uuid[]) for no key update skip locked)
        update node n set last_seen_at = greatest(n.last_seen_at, to_timestamp(v.at / 1000.0)) from unnest($1::uuid[], $2::float8[]) as v(id, at), free where n.id = v.id and n.id = free.id`,
      values: [heard.map((one) => one.node), heard.map((one) => one.atMs)],
    });
  } catch (error) {
    throw asUnavailable(error, 'storing when nodes were last heard');
  }
}
