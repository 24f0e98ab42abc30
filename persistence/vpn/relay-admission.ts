/** Whom a relay lets in: members by the keys in their rows, and gateways. */
import type { Pool } from 'pg';
import { batched } from '../reads/batch.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/**
 * The clusters in whose VPNs a WireGuard public key is; none: it is nobody's. A gateway's key may be in several.
 * Rejects with DatabaseUnavailable.
 */
export function relayClustersLookUp(pool: Pool): (publicKey: string) => Promise<readonly string[]> {
  return batched((keys: readonly string[]) => clustersOf(pool, keys));
}

async function clustersOf(pool: Pool, keys: readonly string[]): Promise<readonly (readonly string[])[]> {
  const rows = await rowsOf<{ public_key: string; clusters: string[] }>(
    pool,
    'finding who may use a relay',
    sql`
    select public_key, array_agg(cluster_id::text) as clusters
    from (select public_key, cluster_id from mesh_member where public_key = any(${keys}::text[])
          union select public_key, cluster_id from mesh_gateway where public_key = any(${keys}::text[])) as known
    group by public_key`,
  );
  const found = new Map(rows.map((row) => [row.public_key, row.clusters]));
  return keys.map((key) => found.get(key) ?? []);
}
