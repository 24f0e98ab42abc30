/** Which admin of a fleet owns its cluster now. */
import { CLUSTER, type Fleet } from '../fleet.ts';
import { until } from '../until.ts';
import type { AdminProgram } from './admin-program.ts';

/** Who owns it. */
export interface Ownership {
  readonly owner: AdminProgram;
  readonly other: AdminProgram;
  readonly epoch: number;
}

/**
 * The owner of the fleet's cluster, another admin, and the epoch, once somebody owns it: on a busy machine a lease may
 * run out for a moment.
 */
export async function ownership(fleet: Pick<Fleet, 'admins' | 'sql'>): Promise<Ownership> {
  return until('an owner of the cluster', () => ownershipNow(fleet));
}

async function ownershipNow(fleet: Pick<Fleet, 'admins' | 'sql'>): Promise<Ownership | null> {
  const [row] = await fleet.sql<{ name: string; epoch: string }>(
    `select a.name, w.epoch from cluster_ownership w join cluster c on c.id = w.cluster_id join admin a on a.id = w.admin_id where c.name = $1 and w.lease_until > clock_timestamp()`,
    [CLUSTER],
  );
  const owner = fleet.admins.find(({ name }) => name === row?.name);
  const other = fleet.admins.find(({ name }) => name !== row?.name);
  return owner === undefined || other === undefined ? null : { owner, other, epoch: Number(row?.epoch) };
}
