/** What the rows say becomes what Netmaker has, whatever happens in between. */
import test from 'ava';
import { v7 } from 'uuid';
import { hostNameOf } from '../../../../actors/vpn/vpn.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { embeddedFixture } from '../../../support/vpn/database-fixture.ts';
import { NetmakerRounds, roundOf, settle } from './reconciliation-fixture.ts';

test.serial(
  'clusters become networks, joined nodes become members with names, and then reconciliation only reads',
  async (t) => {
    const opened = await NetmakerRounds.open(t);
    const { netmaker, fixture } = opened;
    const [one, other] = [await fixture.cluster('one'), await fixture.cluster('other')];
    const nodes = [await fixture.node(one), await fixture.node(one), await fixture.node(other)] as const;
    await fixture.alias(nodes[0], one, 'db');

    t.deepEqual((await roundOf(fixture)).repaired, { 'ensure-network': 2 });
    await opened.entered();
    await opened.settled();

    t.deepEqual(netmaker.state(), await opened.expected());
    netmaker.requests.length = 0;
    await roundOf(fixture);
    t.deepEqual(
      netmaker.requests.toSorted(),
      ['GET /api/dns', 'GET /api/hosts', 'GET /api/networks', 'GET /api/nodes', 'GET /api/server/getserverinfo'].filter(
        (path) => netmaker.requests.includes(path),
      ),
    );
  },
);

test.serial('drift made by hand is repaired: networks, members, names, hosts', async (t) => {
  const opened = await NetmakerRounds.open(t);
  const { netmaker, fixture } = opened;
  const [one, other] = [await fixture.cluster('one'), await fixture.cluster('other')];
  const nodes = [await fixture.node(one), await fixture.node(one), await fixture.node(other)] as const;
  await opened.made();
  const hostOf = async (node: NodeId): Promise<string> =>
    (await fixture.rows.hosts()).find((host) => host.node === node)?.id ?? '';

  const { byHand } = netmaker;
  byHand.takeOut(await hostOf(nodes[0]), one.name);
  byHand.put(await hostOf(nodes[0]), other.name);
  byHand.put(byHand.host('laptop'), one.name);
  byHand.dns(one.name, 'gone.one.edge.test', '10.9.9.9');
  byHand.dropDns(other.name);
  byHand.network('cluster-nobodys', '10.200.0.0/24');
  byHand.put(await hostOf(nodes[1]), 'cluster-nobodys');
  await opened.settled();
  const { hosts, ...state } = netmaker.state();
  t.deepEqual({ ...state, hosts: hosts.filter((host) => host !== 'laptop') }, await opened.expected());
  t.true(hosts.includes('laptop'), 'it is out of our network, and stays a host');

  byHand.dropNetwork(other.name);
  byHand.dropHost(await hostOf(nodes[1]));
  await opened.settled();
  await opened.entered(); // the machine of a host that was deleted enters again
  await opened.settled();
  t.deepEqual(netmaker.state().networks, (await opened.expected()).networks);
});

test.serial(
  "reconciliation spares foreign hosts and networks, Netmaker's default hosts, and names outside our domain",
  async (t) => {
    const opened = await NetmakerRounds.open(t);
    const { netmaker, fixture } = opened;
    const { byHand } = netmaker;
    byHand.host('gateway', true);
    byHand.network('office', '192.168.77.0/24');
    const namesake = hostNameOf(v7() as NodeId); // called like a node, of somebody else
    byHand.put(byHand.host(namesake), 'office');
    byHand.dns('office', 'printer.office', '192.168.77.9');
    const one = await fixture.cluster('one');
    const node = await fixture.node(one);
    await roundOf(fixture);
    await opened.entered();
    byHand.dns(one.name, 'printer.home', '192.168.1.9');
    const before = netmaker.state();

    await opened.settled();
    await fixture.removeNode(node, one);
    await fixture.removeCluster(one);
    await opened.settled();

    const { networks, hosts } = netmaker.state();
    t.deepEqual(networks, { office: before.networks['office'] as never });
    t.deepEqual(
      hosts,
      before.hosts.filter((host) => host !== hostNameOf(node)),
    );
    t.deepEqual(networks['office']?.hosts, ['gateway', namesake].toSorted());
    t.deepEqual(hosts, ['gateway', namesake].toSorted());
  },
);

test.serial(
  'the embedded manager finishes moves too, and puts a member that stands in the wrong network where its node is',
  async (t) => {
    const fixture = await embeddedFixture(t);
    const [one, other] = [await fixture.cluster(), await fixture.cluster()];
    const [node, lost] = [await fixture.node(one), await fixture.node(one)];
    await fixture.enter(one, node);
    await fixture.enter(one, lost);
    await fixture.move(node, one, other);
    await fixture.sql('update mesh_member set cluster_id = $2 where node_id = $1', [lost, other.lease.cluster]);

    await settle(fixture);

    t.deepEqual([await fixture.manager.members(one.name), await fixture.manager.members(other.name)], [[lost], [node]]);
    t.deepEqual(await fixture.sql('select * from mesh_move'), []);
  },
);

test.serial('what is refused keeps nothing else from being done', async (t) => {
  const opened = await NetmakerRounds.open(t);
  const { netmaker, fixture } = opened;
  await fixture.cluster('bad');
  const good = await fixture.cluster('good');
  netmaker.byHand.network('office', (await fixture.rows.wantedOf(['cluster-bad']))[0]?.ipv4Range ?? '');

  const { refused, repaired } = await roundOf(fixture);

  t.deepEqual(refused, ['Netmaker refused making a network (400: network cidr already in use …).']);
  t.deepEqual(repaired, { 'ensure-network': 1 });
  t.deepEqual(Object.keys(netmaker.state().networks), [good.name, 'office']);
});
