/** What admins say to each other of self-update requests: that there is a new one, and that nodes have their turn. */
import type { Pool } from 'pg';
import { asUnavailable } from '../connections/availability.ts';
import type { Log } from '../../transport/net/log.ts';
import type { WakeUpOptions } from '../committer/wake-ups.ts';
import type { Database } from '../connections/database.ts';
import type { Listener, Subscription } from '../connections/listening.ts';
import { openSelfUpdates } from '../loader/self-updates.ts';
import { OWN_CHANNEL_PREFIX } from './own-channel.ts';
import { SELF_UPDATES_CREATED } from '../publishing/names.ts';
import { SELF_UPDATES_TASK, TASK_LEASE_MS, taskLease, type TaskTaker } from '../ownership/task-leases.ts';

/** Which requests are open, as whoever moves them asks for it, and who may. */
export function selfUpdateRows({ adminId, instanceId, database, listener }: SelfUpdatePlace) {
  return {
    rows: {
      open: () => openSelfUpdates(database.pool),
      hear: (created: (request: string | null) => void) => hearSelfUpdates(listener, adminId, created),
    },
    lease: taskLease(database.writes, { adminId, instanceId }, SELF_UPDATES_TASK, TASK_LEASE_MS),
    leaseMs: TASK_LEASE_MS,
  };
}

/** Of which admin, and over which connections. */
export interface SelfUpdatePlace extends TaskTaker {
  readonly database: Pick<Database, 'pool' | 'writes'>;
  readonly listener: Pick<Listener, 'hear'>;
}

/** Hears requests that other admins store, until the result is stopped; null: some may have been missed. */
function hearSelfUpdates(
  listener: Pick<Listener, 'hear'>,
  adminId: string,
  created: (request: string | null) => void,
): Subscription {
  return listener.hear([SELF_UPDATES_CREATED], (_channel, payload) => {
    if (payload === null) return created(null);
    const [by, request] = payload.split(' ');
    if (request !== undefined && by !== adminId) created(request);
  });
}

/**
 * Tells the other admins that own nodes whose turn has come in a request, on their own channels. Best effort: those
 * that say nothing are told again. An admin that is alone asks nothing.
 */
export function selfUpdateWaker(pool: Pool, { adminId, hasPeers }: WakeUpOptions, log: Log): (request: string) => void {
  return (request) => {
    if (!hasPeers()) return;
    pool
      .query({
        name: 'wake-self-update',
        text: `select pg_notify('${OWN_CHANNEL_PREFIX}' || replace(admin_id::text, '-', ''), 'update ' || $2::text) from (
            select distinct w.admin_id from self_update_node u join node n on n.id = u.node_id join cluster_ownership w on w.cluster_id = n.cluster_id
            where u.request_id = $2::text::uuid and u.state = 'due' and w.admin_id <> $1::uuid) others`,
        values: [adminId, request],
      })
      .catch((error: unknown) =>
        log.debug(
          { error: asUnavailable(error, 'telling of nodes to update') },
          'owners of nodes to update are told later',
        ),
      );
  };
}
