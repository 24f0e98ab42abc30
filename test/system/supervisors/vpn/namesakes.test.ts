/** Hosts of Netmaker that call themselves as a node: whoever has a token of any network may choose its name. */
import test from 'ava';
import { hostNameOf } from '../../../../actors/vpn/vpn.ts';
import type { FixtureCluster } from '../../../support/vpn/database-fixture.ts';
import { NetmakerRounds, roundOf } from './reconciliation-fixture.ts';

/** Sorts before every other: whoever registers chooses it. */
const FIRST_ID = '00000000-0000-4000-8000-000000000000';

test.serial(
  'a machine of one cluster that passes for a node of another is put out, and that node enters by itself',
  async (t) => {
    const opened = await NetmakerRounds.open(t);
    const { netmaker, fixture } = opened;
    const [a, b] = [await fixture.cluster('a'), await fixture.cluster('b')];
    const here = await fixture.node(a);
    await opened.made();
    const there = await fixture.node(b);
    const register = async (cluster: FixtureCluster, id?: string): Promise<string> =>
      netmaker.register((await fixture.manager.joinToken(cluster.name)) ?? '', hostNameOf(there), id);

    await register(a, FIRST_ID);
    const { repaired } = await roundOf(fixture);

    t.deepEqual(repaired, { expel: 1 });
    t.deepEqual(netmaker.state().networks[b.name]?.hosts, []);
    t.deepEqual(
      (await fixture.rows.hosts()).map(({ node }) => node),
      [here],
    );
    t.deepEqual(await fixture.rows.uninvited(10, null), [{ node: there, network: b.name }]);

    await register(a, FIRST_ID); // it goes on trying
    const id = await register(b);
    await opened.settled();

    t.deepEqual(netmaker.state().networks, (await opened.expected()).networks);
    t.is((await fixture.rows.hosts()).find(({ node }) => node === there)?.id, id);
  },
);

test.serial('of two hosts in one network that call themselves as the same node neither is it', async (t) => {
  const opened = await NetmakerRounds.open(t);
  const { netmaker, fixture } = opened;
  const a = await fixture.cluster('a');
  await roundOf(fixture);
  const node = await fixture.node(a);
  const token = (await fixture.manager.joinToken(a.name)) ?? '';

  await netmaker.register(token, hostNameOf(node), FIRST_ID);
  const id = await netmaker.register(token, hostNameOf(node));
  t.deepEqual((await roundOf(fixture)).repaired, { expel: 2 });

  await netmaker.register(token, hostNameOf(node), id); // it was told to enter again
  await opened.settled();
  t.deepEqual(await fixture.rows.hosts(), [{ node, id }]);
  await netmaker.register(token, hostNameOf(node), FIRST_ID);
  t.deepEqual((await roundOf(fixture)).repaired, { expel: 1 });
  t.deepEqual(await fixture.rows.hosts(), [{ node, id }]);
});
