/** The service itself as the VPN manager, over a real PostgreSQL. */
import test from 'ava';
import { VpnRefused } from '../../../actors/vpn/vpn.ts';
import { declareContract } from './contract.ts';
import { embeddedWorld } from '../../support/vpn/database-fixture.ts';

declareContract(
  (title, run) => test.serial(title, run),
  async (t) => ({ world: await embeddedWorld(t), settle: () => {} }),
);

test.serial('a member that stands in the wrong network follows its node, with its key and a new address', async (t) => {
  const world = await embeddedWorld(t);
  const [home, away] = [await world.cluster(), await world.cluster()];
  const node = await world.node(home);
  await world.enter(home, node);
  const [before] = await world.sql<{ public_key: string }>('select public_key from mesh_member where node_id = $1', [
    node,
  ]);
  await world.sql('update mesh_member set cluster_id = $2 where node_id = $1', [node, away.lease.cluster]);

  await world.manager.leave(away.name, node);

  t.deepEqual(await world.sql('select public_key, cluster_id from mesh_member where node_id = $1', [node]), [
    { ...before, cluster_id: home.lease.cluster },
  ]);
  await t.throwsAsync(world.manager.join(away.name, node), { instanceOf: VpnRefused });
});

test.serial('a node is never taken out of the network of its own cluster', async (t) => {
  const world = await embeddedWorld(t);
  const home = await world.cluster();
  const node = await world.node(home);
  await world.enter(home, node);

  await world.manager.leave(home.name, node);

  t.deepEqual(await world.manager.members(home.name), [node]);
});
