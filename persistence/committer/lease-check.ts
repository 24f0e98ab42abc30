/** Whether this admin still owns the clusters it writes for, decided inside the transaction of the write (O1). */
import type { PoolClient } from 'pg';
import type { Lease } from '../../actors/behaviour.ts';

/**
 * Locks the ownership rows and returns which leases are stale: another epoch, another owner, or run out by the
 * database's clock.
 * The share lock makes a takeover wait until this transaction ended, so what was checked still holds at the commit.
 */
export async function staleLeases(
  client: Pick<PoolClient, 'query'>,
  leases: readonly Lease[],
): Promise<ReadonlySet<Lease>> {
  const distinct = new Map<string, Lease[]>();
  for (const lease of leases) {
    const same = distinct.get(lease.cluster);
    if (same === undefined) distinct.set(lease.cluster, [lease]);
    else if (!same.some((other) => other.epoch === lease.epoch)) same.push(lease);
  }
  if (distinct.size === 0) return new Set();
  const { rows } = await client.query<{ cluster_id: string; epoch: string }>({
    name: 'lease-check',
    text: 'select cluster_id, epoch::text from cluster_ownership where cluster_id = any($1::uuid[]) and lease_until > clock_timestamp() order by cluster_id for share',
    values: [[...distinct.keys()]],
  });
  const epochs = new Map(rows.map((row) => [row.cluster_id, Number(row.epoch)]));
  return new Set(leases.filter((lease) => epochs.get(lease.cluster) !== lease.epoch));
}
