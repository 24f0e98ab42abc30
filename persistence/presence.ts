/** When nodes were last heard: the only thing that an idle fleet writes, in one statement a round. */
import type { Pool } from 'pg';
import { asUnavailable } from './availability.ts';

/** Stores the times. Best effort: a lost round is made good by the next. */
export async function storePresence(pool: Pool, heard: readonly { readonly node: string; readonly atMs: number }[]): Promise<void> {
  if (heard.length === 0) return;
  try {
    await pool.query({
      name: 'store-presence',
      text: 'update node n set last_seen_at = to_timestamp(v.at / 1000.0) from unnest($1::uuid[], $2::float8[]) as v(id, at) where n.id = v.id',
      values: [heard.map((one) => one.node), heard.map((one) => one.atMs)],
    });
  } catch (error) {
    throw asUnavailable(error, 'storing when nodes were last heard');
  }
}
