/** What an admin takes up again at its start: what was its own before, as far as it has room. */
import type { Log } from '../../transport/net/log.ts';
import { takersOf } from './give-away.ts';
import type { LeasePort, Owned, SurveyedAdmin } from './lease-port.ts';
import { assign } from './placement.ts';

/** Where it is read and taken. */
export interface RetakePorts {
  readonly adminId: string;
  readonly leases: Pick<LeasePort, 'mine' | 'retake'>;
  readonly log: Log;
}

/**
 * It may have less room than then: the rest is free for others. `admins`: those that are alive, with the room that they
 * have. Rejects with DatabaseUnavailable.
 */
export async function retake(
  { adminId, leases, log }: RetakePorts,
  admins: readonly SurveyedAdmin[],
): Promise<readonly Owned[]> {
  const me = admins.find(({ id }) => id === adminId);
  if (me === undefined) return [];
  const before = await leases.mine(adminId);
  // One that is drained takes up what nobody else would.
  const others = me.drainingSinceMs === null ? [] : takersOf(admins, adminId);
  const elsewhere = assign(before, others);
  const fitting = assign(before, [{ ...me, clusters: 0, nodes: 0 }]);
  const staying = before.filter(({ cluster }) => fitting.has(cluster) && !elsewhere.has(cluster));
  const left = before.length - staying.length;
  if (left > 0) log.warn({ clusters: left }, LEFT);
  return leases.retake(
    adminId,
    staying.map(({ cluster }) => cluster),
  );
}

const LEFT = 'this admin has no room any more for clusters that were its own, or is drained';
