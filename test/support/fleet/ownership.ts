/** Which admin of a fleet owns its cluster now. */
import { CLUSTER, type Fleet } from '../fleet.ts';
import type { AdminProgram } from './admin-program.ts';

/** The owner of the fleet's cluster, another admin, and the epoch. Rejects while nobody owns it. */
export async function ownership(
  fleet: Pick<Fleet, 'admins' | 'sql'>,
): Promise<{ readonly owner: AdminProgram; readonly other: AdminProgram; readonly epoch: number }> {
  const [row] = await fleet.sql<{ name: string; epoch: string }>(
    `select a.name, w.epoch from cluster_ownership w join cluster c on c.id = w.cluster_id join admin a on a.id = w.admin_id where c.name = $1 and w.lease_until > clock_timestamp()`,
    [CLUSTER],
  );
  const owner = fleet.admins.find(({ name }) => name === row?.name);
  const other = fleet.admins.find(({ name }) => name !== row?.name);
  if (owner === undefined || other === undefined) throw new Error('nobody owns the cluster');
  return { owner, other, epoch: Number(row?.epoch) };
}
