/** What the rows say becomes what Netmaker has, whatever happens in between. */
import test, { type ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import { hostNameOf, VpnUnavailable, type VpnManager } from '../../../../actors/vpn/vpn.ts';
import { reconcile, type RoundOutcome } from '../../../../supervisors/vpn/round.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { MODERN, startFakeNetmaker, type FakeNetmaker, type Quirks } from '../../../support/netmaker/netmaker.ts';
import {
  embeddedFixture,
  netmakerFixture,
  type VpnFixture,
  type FixtureCluster,
} from '../../../support/vpn/database-fixture.ts';
import { hangAfter } from '../../../support/busy.ts';

const OPERATIONS = 1_000;

async function open(t: ExecutionContext, quirks: Quirks = { ...MODERN, domain: '' }) {
  const netmaker = await startFakeNetmaker(t, quirks);
  const fixture = await netmakerFixture(t, netmaker, (token, name) => netmaker.register(token, name));
  return { netmaker, fixture };
}

function round(fixture: VpnFixture, manager: VpnManager = fixture.manager): Promise<RoundOutcome> {
  return reconcile({ manager, rows: fixture.rows, keep: () => Promise.resolve() }, true);
}

/** Rounds until nothing differs. */
async function settled(fixture: VpnFixture, netmaker: FakeNetmaker | null = null): Promise<void> {
  for (let rounds = 0; rounds < 50; rounds += 1) {
    netmaker?.settle();
    const { plan, refused, moved } = await round(fixture);
    if (plan === '' && refused.length === 0 && moved === 0) return;
  }
  throw new Error('the rounds come to no end');
}

/** The machines of all nodes that are no hosts yet enter as they are told. */
async function entered(fixture: VpnFixture, netmaker: FakeNetmaker): Promise<void> {
  for (const { node, network } of await fixture.rows.uninvited(1_000, null)) {
    const token = await fixture.manager.joinToken(network);
    if (token !== null) await netmaker.register(token, hostNameOf(node));
  }
  await fixture.manager.hosts(); // and are known
}

/** What the stand-in should have, by the rows alone. */
async function expected(fixture: VpnFixture, domain = 'edge.test'): Promise<object> {
  const rows = await fixture.sql<{ name: string; node: NodeId | null; aliases: string[] | null }>(
    `select c.name, n.id as node, (select array_agg(a.name) from alias a where a.node_id = n.id) as aliases from cluster c left join node n on n.cluster_id = c.id`,
  );
  const networks: Record<string, { hosts: string[]; names: Record<string, string> }> = {};
  for (const { name, node, aliases } of rows.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const network = (networks[`cluster-${name}`] ??= { hosts: [], names: {} });
    if (node === null) continue;
    network.hosts.push(hostNameOf(node));
    for (const label of [hostNameOf(node), ...(aliases ?? [])])
      network.names[`${label}.${name}.${domain}`] = hostNameOf(node);
  }
  for (const network of Object.values(networks)) {
    network.hosts.sort();
    network.names = Object.fromEntries(
      Object.entries(network.names).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    );
  }
  return { networks, hosts: rows.flatMap(({ node }) => (node === null ? [] : [hostNameOf(node)])).toSorted() };
}

test.serial(
  'clusters become networks, nodes that entered become members with their names, and then nothing is asked but what there is',
  async (t) => {
    const { netmaker, fixture } = await open(t);
    const [one, other] = [await fixture.cluster('one'), await fixture.cluster('other')];
    const nodes = [await fixture.node(one), await fixture.node(one), await fixture.node(other)] as const;
    await fixture.alias(nodes[0], one, 'db');

    t.deepEqual((await round(fixture)).repaired, { 'ensure-network': 2 });
    await entered(fixture, netmaker);
    await settled(fixture, netmaker);

    t.deepEqual(netmaker.state(), await expected(fixture));
    netmaker.requests.length = 0;
    await round(fixture);
    t.deepEqual(
      netmaker.requests.toSorted(),
      ['GET /api/dns', 'GET /api/hosts', 'GET /api/networks', 'GET /api/nodes', 'GET /api/server/getserverinfo'].filter(
        (path) => netmaker.requests.includes(path),
      ),
    );
  },
);

test.serial('drift made by hand is repaired: networks, members, names, hosts', async (t) => {
  const { netmaker, fixture } = await open(t);
  const [one, other] = [await fixture.cluster('one'), await fixture.cluster('other')];
  const nodes = [await fixture.node(one), await fixture.node(one), await fixture.node(other)] as const;
  await round(fixture);
  await entered(fixture, netmaker);
  await settled(fixture, netmaker);
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
  await settled(fixture, netmaker);
  const { hosts, ...state } = netmaker.state();
  t.deepEqual({ ...state, hosts: hosts.filter((host) => host !== 'laptop') }, await expected(fixture));
  t.true(hosts.includes('laptop'), 'it is out of our network, and stays a host');

  byHand.dropNetwork(other.name);
  byHand.dropHost(await hostOf(nodes[1]));
  await settled(fixture, netmaker);
  await entered(fixture, netmaker); // the machine of a host that was deleted enters again
  await settled(fixture, netmaker);
  t.deepEqual(netmaker.state().networks, ((await expected(fixture)) as ReturnType<FakeNetmaker['state']>).networks);
});

test.serial(
  'whatever is not called as ours is left alone, and so are hosts that Netmaker puts everywhere and names that are not below our domain',
  async (t) => {
    const { netmaker, fixture } = await open(t);
    const { byHand } = netmaker;
    byHand.host('gateway', true);
    byHand.network('office', '192.168.77.0/24');
    const namesake = hostNameOf(v7() as NodeId); // called like a node, of somebody else
    byHand.put(byHand.host(namesake), 'office');
    byHand.dns('office', 'printer.office', '192.168.77.9');
    const one = await fixture.cluster('one');
    const node = await fixture.node(one);
    await round(fixture);
    await entered(fixture, netmaker);
    byHand.dns(one.name, 'printer.home', '192.168.1.9');
    const before = netmaker.state();

    await settled(fixture, netmaker);
    await fixture.removeNode(node, one);
    await fixture.removeCluster(one);
    await settled(fixture, netmaker);

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

test.serial('a move is finished from each step, and a node is never in two networks', async (t) => {
  const { netmaker, fixture } = await open(t);
  const clusters = [await fixture.cluster('a'), await fixture.cluster('b'), await fixture.cluster('c')] as const;
  const node = await fixture.node(clusters[0]);
  await fixture.alias(node, clusters[0], 'db');
  await round(fixture);
  await entered(fixture, netmaker);
  await settled(fixture, netmaker);
  const networksOf = (): string[] =>
    Object.entries(netmaker.state().networks)
      .filter(([, network]) => network.hosts.length > 0)
      .map(([name]) => name);

  let from: FixtureCluster = clusters[0];
  for (let calls = 1, moves = 0; moves < 12; calls += 1) {
    const to = clusters[(moves + 1) % 3] as FixtureCluster;
    const [stored] = await fixture.sql<{ name: string }>(
      'select c.name from node n join cluster c on c.id = n.cluster_id where n.id = $1',
      [node],
    );
    if (`cluster-${stored?.name ?? ''}` !== to.name) await fixture.move(node, from, to);
    const outcome = await round(
      fixture,
      crashing(fixture.manager, calls % 9, calls % 2 === 0, () => t.true(networksOf().length <= 1)),
    ).then(
      () => 'done',
      () => 'crashed',
    );
    if (outcome === 'crashed') continue;
    await settled(fixture, netmaker);
    t.deepEqual(netmaker.state(), await expected(fixture));
    t.deepEqual(await fixture.sql('select * from mesh_move'), []);
    from = to;
    moves += 1;
  }
});

test.serial(
  'a node that was moved on before the first move was finished ends where it should, and was in one network at a time',
  async (t) => {
    const { netmaker, fixture } = await open(t);
    const [a, b, c] = [await fixture.cluster('a'), await fixture.cluster('b'), await fixture.cluster('c')];
    const node = await fixture.node(a);
    await round(fixture);
    await entered(fixture, netmaker);
    await settled(fixture, netmaker);
    const alone = (manager: VpnManager): VpnManager =>
      crashing(manager, 0, false, () =>
        t.true(Object.values(netmaker.state().networks).filter((network) => network.hosts.length > 0).length <= 1),
      );

    await fixture.move(node, a, b);
    await t.throwsAsync(round(fixture, crashing(fixture.manager, 4, true)));
    await fixture.move(node, b, c);
    await round(fixture, alone(fixture.manager));
    await fixture.move(node, c, b);
    await fixture.move(node, b, c);
    await round(fixture, alone(fixture.manager));
    await settled(fixture, netmaker);

    t.deepEqual(netmaker.state(), await expected(fixture));
    t.deepEqual(netmaker.state().networks['cluster-c']?.hosts, [hostNameOf(node)]);
  },
);

test.serial('a move that was read before the node was moved again is not taken for the new one', async (t) => {
  const { fixture } = await open(t);
  const [a, b] = [await fixture.cluster(), await fixture.cluster()];
  const node = await fixture.node(a);
  await fixture.move(node, a, b);
  const [read] = await fixture.rows.moves(1);
  await fixture.move(node, b, a);
  const [again] = await fixture.rows.moves(1);
  if (read === undefined || again === undefined) return t.fail('the moves are not there');

  t.is(await fixture.rows.advance(read, 'join'), null);
  await fixture.rows.finish(read);
  t.deepEqual(await fixture.rows.moves(1), [again]);
  const next = await fixture.rows.advance(again, 'join');
  t.is(next?.step, 'join');
  if (next !== null) await fixture.rows.finish(next);
  t.deepEqual(await fixture.rows.moves(1), []);
  return undefined;
});

test.serial(
  `${OPERATIONS} random joins, leaves, moves, names and deletions with crashes in between end in exactly the right networks`,
  async (t) => {
    t.timeout(hangAfter(300_000));
    const { netmaker, fixture } = await open(t, { ...MODERN, domain: '', lateDeletes: true });
    const random = seeded(20_261_121);
    const pick = <One>(from: readonly One[]): One | undefined => from[Math.floor(random() * from.length)];
    const clusters: FixtureCluster[] = [await fixture.cluster(), await fixture.cluster(), await fixture.cluster()];
    const nodes = new Map<NodeId, FixtureCluster>();
    const aliases = new Map<string, NodeId>();
    let crashes = 0;

    for (let operation = 0; operation < OPERATIONS; operation += 1) {
      const kind = random();
      const [node, home] = pick([...nodes]) ?? [];
      if (kind < 0.3 || node === undefined || home === undefined) {
        const cluster = pick(clusters) as FixtureCluster;
        nodes.set(await fixture.node(cluster), cluster);
      } else if (kind < 0.55) {
        const to = pick(clusters.filter((cluster) => cluster !== home)) as FixtureCluster;
        await fixture.move(node, home, to);
        nodes.set(node, to);
      } else if (kind < 0.7) aliases.set(await fixture.alias(node, home, `a${operation}`), node);
      else if (kind < 0.8) {
        const [alias] = pick([...aliases]) ?? [];
        if (alias !== undefined) await fixture.removeAlias(alias);
        if (alias !== undefined) aliases.delete(alias);
      } else if (kind < 0.97 && nodes.size > 12) {
        await fixture.removeNode(node, home);
        nodes.delete(node);
        for (const [alias, of] of aliases) if (of === node) aliases.delete(alias);
      } else if (kind < 0.985 && clusters.length < 6) clusters.push(await fixture.cluster());
      else {
        const empty = clusters.find((cluster) => clusters.length > 2 && ![...nodes.values()].includes(cluster));
        if (empty !== undefined) await fixture.removeCluster(empty);
        if (empty !== undefined) clusters.splice(clusters.indexOf(empty), 1);
      }
      if (random() < 0.06) await entered(fixture, netmaker);
      if (random() < 0.08)
        await round(fixture, crashing(fixture.manager, 1 + Math.floor(random() * 25), random() < 0.5)).catch(() => {
          crashes += 1;
        });
      if (random() < 0.1) netmaker.settle();
    }
    for (let times = 0; times < 3; times += 1) {
      await settled(fixture, netmaker);
      await entered(fixture, netmaker);
    }
    await settled(fixture, netmaker);

    t.true(crashes > 20, `${crashes} crashes`);
    t.deepEqual(netmaker.state(), await expected(fixture));
    t.deepEqual(await fixture.sql('select * from mesh_move'), []);
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

    await settled(fixture);

    t.deepEqual([await fixture.manager.members(one.name), await fixture.manager.members(other.name)], [[lost], [node]]);
    t.deepEqual(await fixture.sql('select * from mesh_move'), []);
  },
);

test.serial('what is refused keeps nothing else from being done', async (t) => {
  const { netmaker, fixture } = await open(t);
  await fixture.cluster('bad');
  const good = await fixture.cluster('good');
  netmaker.byHand.network('office', (await fixture.rows.wantedOf(['cluster-bad']))[0]?.ipv4Range ?? '');

  const { refused, repaired } = await round(fixture);

  t.deepEqual(refused, ['Netmaker refused making a network (400: network cidr already in use …).']);
  t.deepEqual(repaired, { 'ensure-network': 1 });
  t.deepEqual(Object.keys(netmaker.state().networks), [good.name, 'office']);
});

/**
 * A manager that is cut off at its `at`-th change, before or after it has done it; 0: never. `observe` is asked after
 * each.
 */
function crashing(manager: VpnManager, at: number, isDone: boolean, observe: () => void = () => {}): VpnManager {
  let calls = 0;
  const cut =
    <Args extends readonly unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      calls += 1;
      if (calls === at && !isDone) throw new VpnUnavailable('cut off');
      const result = await call(...args);
      observe();
      if (calls === at) throw new VpnUnavailable('cut off');
      return result;
    };
  return {
    kind: manager.kind,
    status: (signal) => manager.status(signal),
    survey: () => manager.survey(),
    networks: () => manager.networks(),
    hosts: () => manager.hosts(),
    members: (network) => manager.members(network),
    joinToken: (network) => manager.joinToken(network),
    names: (network) => manager.names(network),
    peers: (network) => manager.peers(network),
    close: () => manager.close(),
    ensureNetwork: cut((network) => manager.ensureNetwork(network)),
    removeNetwork: cut((name) => manager.removeNetwork(name)),
    removeHost: cut((node) => manager.removeHost(node)),
    join: cut((network, node) => manager.join(network, node)),
    leave: cut((network, node) => manager.leave(network, node)),
    expel: cut((network, host) => manager.expel(network, host)),
    setNames: cut((network, names) => manager.setNames(network, names)),
  };
}

/** Numbers from 0 to 1 that are the same each time. Source: mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = Math.trunc(state + 0x6d_2b_79_f5);
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
