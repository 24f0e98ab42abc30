/** The service itself as the VPN manager, over a real PostgreSQL. */
import test from 'ava';
import { VpnRefused } from '../../../actors/vpn/vpn.ts';
import { declareContract } from './contract.ts';
import { embeddedFixture } from '../../support/vpn/database-fixture.ts';

declareContract(
  (title, run) => test.serial(title, run),
  async (t) => ({ fixture: await embeddedFixture(t), settle: () => {} }),
);

test.serial('a member that stands in the wrong network follows its node, with its key and a new address', async (t) => {
  const fixture = await embeddedFixture(t);
  const [home, away] = [await fixture.cluster(), await fixture.cluster()];
  const node = await fixture.node(home);
  await fixture.enter(home, node);
  const [before] = await fixture.sql<{ public_key: string }>('select public_key from mesh_member where node_id = $1', [
    node,
  ]);
  await fixture.sql('update mesh_member set cluster_id = $2 where node_id = $1', [node, away.lease.cluster]);

  await fixture.manager.leave(away.name, node);

  t.deepEqual(await fixture.sql('select public_key, cluster_id from mesh_member where node_id = $1', [node]), [
    { ...before, cluster_id: home.lease.cluster },
  ]);
  await t.throwsAsync(fixture.manager.join(away.name, node), { instanceOf: VpnRefused });
});

test.serial('a node is never taken out of the network of its own cluster', async (t) => {
  const fixture = await embeddedFixture(t);
  const home = await fixture.cluster();
  const node = await fixture.node(home);
  await fixture.enter(home, node);

  await fixture.manager.leave(home.name, node);

  t.deepEqual(await fixture.manager.members(home.name), [node]);
});
