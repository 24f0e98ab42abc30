/** Which admin of a fleet does what one admin does at a time, and a task that is to be done by a certain one. */
import type { Fleet } from '../fleet.ts';
import { until } from '../until.ts';
import type { AdminProgram } from './admin-program.ts';

/** A task as `/admins/{name}` names it, but for those that publish events. */
export type Task = 'reconciler' | 'self-updates' | 'sweeps';

/** Whose a task is now, and the epoch of its lease. */
interface Held {
  readonly holder: AdminProgram;
  readonly epoch: number;
}

/** What an admin logs whose sweeps another one took. */
const LOST = 'another admin sweeps whole tables now';

/** Who does it, once somebody does: on a busy machine a lease may run out for a moment. */
export function taskHolder(fleet: Fleet, task: Task, msMax?: number): Promise<AdminProgram> {
  return until(`an admin that does ${task}`, async () => (await heldNow(fleet, task))?.holder, msMax);
}

/**
 * Has this admin, and no other, sweep whole tables: its lease is made one of it, which it takes up as after a restart,
 * and whoever had it says that it is lost. Resolves with the epoch under which it does so: what `sweptUnder` tells of.
 */
export async function giveSweeps(fleet: Fleet, to: AdminProgram): Promise<number> {
  const before = await until('an admin that does sweeps', () => heldNow(fleet, 'sweeps'));
  if (before.holder === to) return before.epoch;
  let [from, givenUnder] = [0, 0];
  const { epoch } = await until(`${to.name} to do sweeps`, async () => {
    const now = await heldNow(fleet, 'sweeps');
    if (now?.holder === to && givenUnder > 0) return now.epoch > givenUnder ? now : null; // else it has not looked yet
    from = before.holder.program.output.length;
    const [given] = await fleet.sql<{ epoch: number }>(
      `update vpn_lease l set admin_id = a.id, epoch = l.epoch + 1, lease_until = clock_timestamp() + interval '3 s'
        from admin a where l.name = 'sweeps' and a.name = $1 returning l.epoch::int as epoch`,
      [to.name],
    );
    givenUnder = given?.epoch ?? 0;
    return null;
  });
  await before.holder.program.logged(LOST, from);
  return epoch;
}

/** Whether sweeps are still done under this epoch, and were all the time: nobody else has swept since. */
export async function sweptUnder(fleet: Fleet, epoch: number): Promise<boolean> {
  return (await heldNow(fleet, 'sweeps'))?.epoch === epoch;
}

async function heldNow(fleet: Fleet, task: Task): Promise<Held | null> {
  const [row] = await fleet.sql<{ name: string; epoch: number }>(
    `select a.name, l.epoch::int as epoch from vpn_lease l join admin a on a.id = l.admin_id where l.name = $1 and l.lease_until > clock_timestamp()`,
    [task],
  );
  const holder = fleet.admins.find(({ name }) => name === row?.name);
  return row === undefined || holder === undefined ? null : { holder, epoch: row.epoch };
}
