/**
 * Hand-overs that do not go as they should: whoever dies, stalls or hears nothing in the middle, each cluster has one
 * owner soon.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { Client } from 'pg';
import { ROOM_LOCK } from '../../../persistence/committer/capacity.ts';
import { IN_THIS_DATABASE } from '../../support/database/locks.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { createDatabase } from '../../support/database/database.ts';
import type { Scope } from '../../support/scope.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';

/** Two admins and an agent, and a connection of the test's own that can stand in their way. */
async function twoAdmins(t: Scope): Promise<{
  readonly fleet: Fleet;
  readonly blocker: Client;
}> {
  const connection: TestConnection = await createDatabase(t);
  const fleet = await startFleet(t, { admins: 2, agents: 1, connection });
  const blocker = new Client(connection);
  await blocker.connect();
  blocker.on('error', () => {});
  t.teardown(() => blocker.end());
  return { fleet, blocker };
}

const drain = (fleet: Fleet, { name }: AdminProgram, isDrained = true): Promise<unknown> =>
  fleet.sql('update admin_identity set draining_since = case when $2 then clock_timestamp() end where name = $1', [
    name,
    isDrained,
  ]);

/** Waits until this admin owns the fleet's cluster. */
const ownedBy = (fleet: Fleet, admin: AdminProgram): Promise<number> =>
  until(`${admin.name} to own the cluster`, async () => {
    const now = await fleet.owner();
    return now?.admin === admin ? now.epoch : null;
  });

/** A command runs on the agent once, wherever it is asked. */
async function runsOnce(fleet: Fleet, at: AdminProgram): Promise<readonly string[]> {
  const ledger = join(fleet.directory, 'ledger');
  const rest = restClient(() => at.url, FLEET_KEYS.MASTER_KEY);
  const { id } = await rest.post<{ id: string }>('/commands', {
    command_text: `echo ran >>${ledger}`,
    targeting: { type: 'all' },
  });
  await until(
    'the result',
    async () =>
      (await fleet.sql('select 1 from command_execution where command_id = $1 and finished_at is not null', [id]))[0],
    60_000,
  );
  return readFileSync(ledger, 'utf8').split('\n').filter(Boolean);
}

test('a notification that is lost costs a round: who was given a cluster finds it by itself, and who gave it lets go', async (t) => {
  const { fleet } = await twoAdmins(t);
  const { owner, other, epoch } = await ownership(fleet);

  await fleet.sql(
    `update cluster_ownership set admin_id = (select id from admin where name = $1), epoch = epoch + 1, lease_until = clock_timestamp() + interval '30 s'`, // nobody renews it before it is found
    [other.name],
  );
  await other.program.logged('clusters are owned by this admin now');

  t.deepEqual(await runsOnce(fleet, owner), ['ran']);
  t.like(await ownership(fleet), { owner: other, epoch: epoch + 1 });
});

/** Whoever gives this admin a cluster waits from now on, in its transaction, until the lock is let go. */
async function holdUp(blocker: Client, { name }: AdminProgram): Promise<void> {
  await blocker.query(`select pg_advisory_lock(${ROOM_LOCK}, hashtext(id::text)) from admin where name = $1`, [name]);
}

test('a giver whose transaction fails keeps the cluster and goes on; one that is killed in it is taken over from', async (t) => {
  const { fleet, blocker } = await twoAdmins(t);
  const { owner, other } = await ownership(fleet);
  await holdUp(blocker, other);
  await drain(fleet, owner);
  await owner.program.logged('clusters could not be handed over: they stay');
  t.deepEqual(await runsOnce(fleet, other), ['ran']);

  const waiting = `select 1 from pg_locks where ${IN_THIS_DATABASE} and locktype = 'advisory' and classid = ${ROOM_LOCK} and not granted`;
  await until('it to be in the transaction', async () => (await fleet.sql(waiting)).length > 0);
  await owner.kill();
  await blocker.query('select pg_advisory_unlock_all()');
  await ownedBy(fleet, other);

  t.deepEqual(await runsOnce(fleet, other), ['ran', 'ran']);
});

test('if giver or receiver is killed in a hand-over, the cluster is served again, and nothing runs twice', async (t) => {
  const { fleet } = await twoAdmins(t);
  const { owner, other } = await ownership(fleet);

  await drain(fleet, owner);
  await ownedBy(fleet, other);
  await owner.kill();
  t.deepEqual(await runsOnce(fleet, other), ['ran']);

  await fleet.sql('update admin_identity set draining_since = null');
  await owner.start();
  const epoch = await ownedBy(fleet, other);
  owner.program.pause(); // it hears nothing, and counts as alive
  await drain(fleet, other);
  await until('it to be given away', async () => {
    await fleet.sql('update admin set last_checked_in = clock_timestamp() where name = $1', [owner.name]);
    return (await fleet.sql('select from cluster_ownership where epoch > $1', [epoch])).length > 0;
  });
  await owner.kill();
  await drain(fleet, other, false);
  await ownedBy(fleet, other);

  t.deepEqual(await runsOnce(fleet, other), ['ran', 'ran']);
});

test('an admin that stops is given nothing by others, until a process of its name starts again', async (t) => {
  const { fleet } = await twoAdmins(t);
  const { owner, other, epoch } = await ownership(fleet);
  await fleet.sql('update admin set stopping_since = clock_timestamp() where name = $1', [other.name]);
  await drain(fleet, owner);

  await owner.program.logged('this admin is drained, and no other admin takes its clusters: it keeps them');
  t.like(await ownership(fleet), { owner, epoch });

  await other.kill();
  await other.start();
  await ownedBy(fleet, other);
  t.deepEqual(await runsOnce(fleet, owner), ['ran']);
});

test('a receiver that is full or drained too is given nothing: the giver keeps its clusters, serves them and says so', async (t) => {
  const { fleet } = await twoAdmins(t);
  const { owner, other, epoch } = await ownership(fleet);
  await drain(fleet, other);
  await drain(fleet, owner);

  await owner.program.logged('this admin is drained, and no other admin takes its clusters: it keeps them');
  t.deepEqual(await runsOnce(fleet, other), ['ran']);
  t.like(await ownership(fleet), { owner, epoch });

  await drain(fleet, other, false);
  await ownedBy(fleet, other);
  t.deepEqual(await runsOnce(fleet, owner), ['ran', 'ran']);
});
