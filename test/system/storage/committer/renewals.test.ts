/** Writes under a lease, renewals and changes of owner: who waits for whom, and who does not (O1, L4). */
import test from 'ava';
import type { Pool } from 'pg';
import { v7 } from 'uuid';
import type { Lease } from '../../../../actors/behaviour.ts';
import { staleLeases, statementsAtOnce } from '../../../../persistence/committer/hot-batch.ts';
import { isRefused } from '../../../../persistence/committer/statement.ts';
import { WakeUps } from '../../../../persistence/committer/wake-ups.ts';
import { Leases } from '../../../../persistence/ownership/leases.ts';
import { storeGateway } from '../../../../persistence/vpn/readings.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { change, openFixture, type ClusterLease, type Fixture } from '../../../support/database/committer-fixture.ts';
import { LONG_WAITS, VAULT } from '../../../support/database/opened.ts';

const PLACE = { publicKey: 'k', listenPort: 1, endpoints: [], relayRegion: null } as never;

const OVER = `update cluster_ownership set lease_until = clock_timestamp() - interval '1 s'`;

test('cold writes that wait for a row of their cluster, on every connection that they have, keep no renewal waiting', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  const [lease, other] = [await fixture.cluster(), await fixture.cluster()];
  const nodes = [await fixture.node(lease), await fixture.node(lease)];
  const holder = await fixture.holder('select 1 from cluster where id = $1 for update', [lease.cluster]);

  const writing = nodes.map((node) =>
    fixture.committer.commit(lease, [change({ kind: 'node-deleted', node, atMs: NOW_MS })], false),
  );
  await fixture.waiting(2);
  const renewed = await fixture.leases.renew(fixture.adminId, [lease, other]);

  t.is((await fixture.inLine()).length, 2, 'they wait still');
  t.is(renewed.length, 2);
  await holder.query('rollback');
  t.deepEqual((await Promise.all(writing)).flat(), [], 'nothing was refused');
});

test('a gateway that is stored, and waits for its row, keeps no renewal waiting', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  const lease = await fixture.cluster();
  const { pool } = fixture.database;
  const place = (): Promise<boolean> => storeGateway(pool, fixture.adminId, lease.cluster, lease.epoch, PLACE);
  t.true(await place());
  const holder = await fixture.holder('select 1 from mesh_gateway for update');

  const storing = place();
  await fixture.waiting(1);
  const renewed = await fixture.leases.renew(fixture.adminId, [lease]);

  t.is((await fixture.inLine()).length, 1, 'it waits still');
  t.deepEqual(renewed, [lease]);
  await holder.query('rollback');
  t.true(await storing);
});

/** Checks leases in the transaction of this client, as a batch does: whether all stand. */
const CHECKS: Readonly<Record<string, (client: Pick<Pool, 'query'>, ...leases: readonly Lease[]) => Promise<boolean>>> =
  {
    'step by step': async (client, ...leases) => (await staleLeases(client, leases)).size === 0,
    'in one series': async (client, ...leases) => {
      const wakeUps = new WakeUps({ adminId: v7(), hasPeers: () => false });
      const units = leases.map((lease) => ({ lease, changes: [] }));
      const [check] = await statementsAtOnce({ vault: VAULT, wakeUps }, units);
      const { text, values = [] } = check ?? { text: '' };
      return client.query(text, values as unknown[]).then(
        () => true,
        (error: unknown) => {
          if (!isRefused(error)) throw error;
          return false;
        },
      );
    },
  };

/** Who makes a lease end. Resolves with the clusters that it changed. */
const ENDS: Readonly<Record<string, (leases: Leases, fixture: Fixture, lease: ClusterLease) => Promise<unknown>>> = {
  claim: (leases, _fixture, lease) => leases.claim(v7(), [lease.cluster]),
  retake: (leases, fixture, lease) => leases.retake(fixture.adminId, [lease.cluster]),
  release: (leases, fixture, lease) => leases.release(fixture.adminId, [lease]),
};

for (const [way, stands] of Object.entries(CHECKS)) {
  test(`what a batch checked ${way} is renewed meanwhile, and holds until its end against whoever ends the lease (O1)`, async (t) => {
    const fixture = await openFixture(t, undefined, LONG_WAITS);
    for (const [what, end] of Object.entries(ENDS)) {
      const lease = await fixture.cluster();
      const batch = await fixture.holder('select 1');
      t.true(await stands(batch, lease), what);

      t.deepEqual(await fixture.leases.renew(fixture.adminId, [lease]), [lease], 'a renewal does not wait');
      await fixture.rows(`${OVER} where cluster_id = $1`, [lease.cluster]); // as if the batch had taken so long
      const ending = end(fixture.leases, fixture, lease);
      if (what === 'claim') t.deepEqual(await ending, [], 'nobody claims what is written for');
      else await fixture.waiting(1);
      await batch.query('commit');
      await ending;

      if (what === 'claim') t.like(await end(fixture.leases, fixture, lease), [{ epoch: 2 }]);
      t.false(await stands(fixture.database.pool, lease), what);
    }
  });

  test(`a batch that checks a lease ${way} waits for whoever ends it, and finds it ended, also behind a renewal (O1)`, async (t) => {
    const fixture = await openFixture(t, undefined, LONG_WAITS);
    for (const [what, end] of Object.entries(ENDS)) {
      const lease = await fixture.cluster();
      const ending = await fixture.holder('select 1');
      const leases = new Leases(ending as never);
      if (what !== 'claim') t.deepEqual(await leases.renew(fixture.adminId, [lease]), [lease], what);
      else await ending.query(`${OVER} where cluster_id = $1`, [lease.cluster]);
      await end(leases, fixture, lease);

      const checking = stands(fixture.database.pool, lease);
      await fixture.waiting(1);
      await ending.query('commit');

      t.false(await checking, what);
    }
  });
}

for (const [way, stands] of Object.entries(CHECKS))
  test(`a release and a batch that checks the same leases ${way} do not wait for each other in a circle`, async (t) => {
    const fixture = await openFixture(t, undefined, LONG_WAITS);
    const leases = [await fixture.cluster(), await fixture.cluster(), await fixture.cluster()];
    // The first of them lies last in the table, so that a statement that takes rows as they lie has another order than
    // the batch.
    await fixture.hold(leases[0]?.cluster as never);
    const holder = await fixture.holder('select 1 from cluster_ownership where cluster_id = $1 for update', [
      leases[1]?.cluster,
    ]);

    const releasing = fixture.leases.release(fixture.adminId, leases.toReversed());
    await fixture.waiting(1);
    const checking = stands(fixture.database.pool, ...leases);
    await fixture.waiting(2);
    await holder.query('rollback');
    await releasing;

    t.false(await checking, 'it came behind the release');
  });

test('what is claimed is renewed by nobody else, and what is renewed is not claimed', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  const [claimed, renewed] = [await fixture.cluster(), await fixture.cluster()];
  await fixture.rows(OVER);
  const [claiming, renewing] = [await fixture.holder('select 1'), await fixture.holder('select 1')];
  t.is((await new Leases(claiming as never).claim(v7(), [claimed.cluster])).length, 1);
  t.is((await new Leases(renewing as never).renew(fixture.adminId, [renewed])).length, 1);

  const late = fixture.leases.renew(fixture.adminId, [claimed]);
  await fixture.waiting(1);
  t.deepEqual(await fixture.leases.claim(v7(), [renewed.cluster]), []);
  await claiming.query('commit');
  await renewing.query('commit');

  t.deepEqual(await late, []);
  t.deepEqual(await fixture.leases.claim(v7(), [renewed.cluster]), []);
});

test('of free clusters those are claimed that nobody holds: one whose row is locked for long keeps no other waiting', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  const clusters = [await fixture.cluster(), await fixture.cluster(), await fixture.cluster()].map(
    ({ cluster }) => cluster,
  );
  await fixture.rows(OVER);
  const holder = await fixture.holder('select 1 from cluster_ownership where cluster_id = $1 for update', [
    clusters[1],
  ]);

  const claimed = await fixture.leases.claim(v7(), clusters);
  await holder.query('rollback');
  const left = await fixture.leases.claim(v7(), clusters);

  t.deepEqual(
    claimed.map(({ cluster }) => cluster),
    [clusters[0], clusters[2]],
  );
  t.deepEqual(left, [{ cluster: clusters[1], epoch: 2 }]);
});
