/** Which admin does what only one does at a time, by the database's clock. */
import { RECONCILER_TASK, SELF_UPDATES_TASK, SWEEPS_TASK } from '../ownership/task-leases.ts';
import { BROKER_CHANNEL, WEBHOOKS_CHANNEL } from '../publishing/names.ts';
import { sql, type Sql } from './sql.ts';

/** A task, and the name of the admin that does it now; null: nobody does. */
export interface TaskHolder {
  readonly task: string;
  readonly admin: string | null;
}

const LEASES = sql`select name, admin_id, lease_until from event_channel union all select name, admin_id, lease_until from vpn_lease`;

/** An array of the tasks that the admin of this id does now, in the order of their names; empty where it is null. */
export function tasksOf(admin: Sql): Sql {
  return sql`array(select l.name from (${LEASES}) l where l.admin_id = ${admin} and l.lease_until > clock_timestamp() order by l.name collate "C")`;
}

/** Selects a TaskHolder for each task that somebody should do now, in the order of their names. */
export function taskHolders(hasBroker: boolean): Sql {
  const channels = [...(hasBroker ? [BROKER_CHANNEL] : []), WEBHOOKS_CHANNEL];
  const tasks = [...channels, RECONCILER_TASK, SELF_UPDATES_TASK, SWEEPS_TASK].toSorted();
  return sql`
    select t.task, a.name as admin from unnest(${tasks}::text[]) with ordinality as t(task, place)
      left join (${LEASES}) l on l.name = t.task and l.lease_until > clock_timestamp()
      left join admin a on a.id = l.admin_id order by t.place`;
}
