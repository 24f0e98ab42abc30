/** Which of several admins keeps the VPN as the rows say. */
import test from 'ava';
import { v7 } from 'uuid';
import type { VpnRows } from '../../../../actors/vpn/rows.ts';
import { TASK_LEASE_MS } from '../../../../persistence/ownership/task-leases.ts';
import { RENEW_MS } from '../../../../supervisors/tasks/held-task.ts';
import { Reconciler } from '../../../../supervisors/vpn/reconciler.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';
import { embeddedFixture } from '../../../support/vpn/database-fixture.ts';

test('one admin reconciles at a time, and another goes on when it stops', async (t) => {
  const fixture = await embeddedFixture(t);
  // Whoever has the lease keeps it until it stops: a busy machine may be late with a renewal.
  await fixture.sql(
    `create function last() returns trigger language plpgsql as $$ begin new.lease_until := clock_timestamp() + interval '1 hour'; return new; end $$`,
  );
  await fixture.sql(
    'create trigger lasts before insert or update on vpn_lease for each row when (new.admin_id is not null) execute function last()',
  );
  const [one, other] = [await fixture.cluster(), await fixture.cluster()];
  const node = await fixture.node(one);
  await fixture.enter(one, node);
  const clock = createFakeClock();
  const log = recordingLog();
  const make = (rows: VpnRows): Reconciler =>
    new Reconciler({
      manager: fixture.manager,
      rows,
      leaseMs: TASK_LEASE_MS,
      clock,
      monotonicMs: () => clock.nowMs(),
      leaseClockMs: () => clock.nowMs(),
      takesTasks: () => true,
      random: () => 1,
      log,
    });
  const [first, second] = [make(fixture.rowsOf(v7())), make(fixture.rowsOf(v7()))];
  t.teardown(() => second.stop());
  const holder = async () =>
    (await fixture.sql<{ admin_id: string | null; epoch: string }>('select admin_id, epoch from vpn_lease'))[0];
  const movesLeft = async (): Promise<number> => (await fixture.sql('select 1 from mesh_move')).length;

  first.start();
  const held = await until('the first one', async () => {
    const row = await holder();
    return row?.admin_id !== null && row;
  });
  second.start();
  await fixture.move(node, one, other);
  await until('the move to be finished', async () => {
    first.wake();
    clock.pass(500);
    return (await movesLeft()) === 0;
  });
  t.deepEqual(await holder(), held);

  await first.stop();
  await fixture.move(node, other, one);
  await until('the other one to finish the second move', async () => {
    clock.pass(RENEW_MS);
    return (await movesLeft()) === 0;
  });
  t.not((await holder())?.admin_id, held.admin_id);
});
