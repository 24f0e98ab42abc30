/** What every VPN manager promises. The same tests for each of them. */
import type { ExecutionContext } from 'ava';
import { namesFor } from '../../../actors/vpn/drift.ts';
import { VpnRefused, type VpnManager } from '../../../actors/vpn/vpn.ts';
import { NodeId } from '../../../transport/protocol/ids.ts';
import { until } from '../../support/until.ts';
import type { VpnFixture } from '../../support/vpn/database-fixture.ts';

/** A test of a title. */
type Declare = (title: string, run: (t: ExecutionContext) => Promise<void>) => void;

/** Declares the tests. `settle` lets late deletions happen. */
export function declareContract(
  declare: Declare,
  open: (t: ExecutionContext) => Promise<{ readonly fixture: VpnFixture; readonly settle: () => void }>,
): void {
  const one = async (t: ExecutionContext) => {
    const { fixture, settle } = await open(t);
    const network = await fixture.cluster();
    await fixture.manager.ensureNetwork(network);
    return { fixture, settle, network, manager: fixture.manager };
  };
  const hasMembers = async (manager: VpnManager, network: string, nodes: readonly NodeId[]): Promise<boolean> =>
    String((await manager.members(network)).toSorted()) === String(nodes.toSorted());

  declare('it works, and says so', async (t) => {
    const { manager } = await one(t);

    t.is(await manager.status(AbortSignal.timeout(30_000)), null);
  });

  declare('a network is there once it was made, with its ranges, and making it again changes nothing', async (t) => {
    const {
      manager,
      network: { name, ipv4Range, ipv6Range },
    } = await one(t);

    await manager.ensureNetwork({ name, ipv4Range, ipv6Range });

    t.deepEqual(
      (await manager.networks()).filter((network) => network.name === name),
      [{ name, ipv4Range, ipv6Range }],
    );
    t.deepEqual(await manager.members(name), []);
    t.deepEqual(await manager.names(name), []);
    t.deepEqual(await manager.peers(name), []);
  });

  declare('a network of a cluster that is gone can be removed, and again', async (t) => {
    const { fixture, settle, manager, network } = await one(t);
    const node = await fixture.node(network);
    await fixture.enter(network, node);
    await until('the member', () => hasMembers(manager, network.name, [node]));
    await fixture.removeNode(node, network);
    await fixture.removeCluster(network);

    await until('the network to be gone', async () => {
      await manager.removeNetwork(network.name).finally(settle);
      return !(await manager.networks()).some(({ name }) => name === network.name);
    });

    await t.notThrowsAsync(manager.removeNetwork(network.name));
  });

  declare('nothing is done to a network that is not called as one of a cluster', async (t) => {
    const { fixture, manager, network } = await one(t);
    const node = await fixture.node(network);

    for (const call of [
      () => manager.removeNetwork('office'),
      () => manager.ensureNetwork({ ...network, name: 'office' }),
      () => manager.setNames('office', [{ name: 'a', node }]),
      () => manager.ensureNetwork({ ...network, name: `cluster-${'x'.repeat(25)}` }),
    ]) {
      const outcome = await call().then(
        () => 'done',
        (error: unknown) => error,
      );
      t.true((outcome === 'done' && manager.kind === 'embedded') || outcome instanceof VpnRefused, String(outcome));
    }
  });

  declare('a node is a host and a member once it has entered, and entering again changes nothing', async (t) => {
    const { fixture, manager, network } = await one(t);
    const [first, second] = [await fixture.node(network), await fixture.node(network)];
    t.false(await manager.join(network.name, first));

    await fixture.enter(network, first);
    await fixture.enter(network, second);
    await until('both members', () => hasMembers(manager, network.name, [first, second]));

    t.true(await manager.join(network.name, first));
    t.deepEqual((await manager.members(network.name)).toSorted(), [first, second].toSorted());
    t.deepEqual((await manager.hosts()).map(({ node }) => node).toSorted(), [first, second].toSorted());
    t.deepEqual((await manager.peers(network.name)).map(({ node }) => node).toSorted(), [first, second].toSorted());
  });

  declare('a node that moved leaves one network and joins the other, each as often as one likes', async (t) => {
    const { fixture, settle, manager, network } = await one(t);
    const other = await fixture.cluster();
    await manager.ensureNetwork(other);
    const [node, neighbour] = [await fixture.node(network), await fixture.node(other)];
    await fixture.enter(network, node);
    await fixture.enter(other, neighbour);
    await until(
      'the members',
      async () => (await hasMembers(manager, network.name, [node])) && hasMembers(manager, other.name, [neighbour]),
    );
    await fixture.move(node, network, other);

    for (let times = 0; times < 2; times += 1) {
      await manager.leave(network.name, node);
      t.deepEqual(await manager.members(network.name), []);
      settle();
    }
    for (let times = 0; times < 2; times += 1) t.true(await manager.join(other.name, node));

    t.deepEqual((await manager.members(other.name)).toSorted(), [node, neighbour].toSorted());
    t.deepEqual((await manager.hosts()).map((host) => host.node).toSorted(), [node, neighbour].toSorted());
  });

  declare('names are exactly what they were set to, and lead to members', async (t) => {
    const { fixture, manager, network } = await one(t);
    const [first, second, absent] = [
      await fixture.node(network),
      await fixture.node(network),
      await fixture.node(network),
    ];
    await fixture.enter(network, first);
    await fixture.enter(network, second);
    await until('both members', () => hasMembers(manager, network.name, [first, second]));
    const set = async (aliases: Readonly<Record<NodeId, readonly string[]>>): Promise<void> => {
      const names = namesFor([first, second, absent].map((node) => ({ node, aliases: aliases[node] ?? [] })));
      await manager.setNames(network.name, names);
      const expected = names.filter(({ node }) => node !== absent);
      t.deepEqual((await manager.names(network.name)).toSorted(byName), expected.toSorted(byName));
    };

    const alias = await fixture.alias(first, network, 'db');
    await fixture.alias(second, network, 'web-1');
    await set({ [first]: ['db'], [second]: ['web-1'] });
    await set({ [first]: ['db'], [second]: ['web-1'] });
    await fixture.removeAlias(alias);
    await fixture.alias(second, network, 'db');
    await set({ [second]: ['db', 'web-1'] });
  });

  declare('a node that is gone can be removed as a host, and again', async (t) => {
    const { fixture, settle, manager, network } = await one(t);
    const [node, other] = [await fixture.node(network), await fixture.node(network)];
    await fixture.enter(network, node);
    await fixture.enter(network, other);
    await until('both members', () => hasMembers(manager, network.name, [node, other]));
    await fixture.removeNode(node, network);

    await manager.removeHost(node);
    settle();
    await manager.removeHost(node);

    t.deepEqual(
      (await manager.hosts()).map((host) => host.node),
      [other],
    );
    t.deepEqual(await manager.members(network.name), [other]);
  });

  declare('a survey has what the parts have', async (t) => {
    const { fixture, manager, network } = await one(t);
    const second = await fixture.cluster();
    await manager.ensureNetwork(second);
    const [node, other] = [await fixture.node(network), await fixture.node(second)];
    await fixture.alias(other, second, 'db');
    await fixture.enter(network, node);
    await fixture.enter(second, other);
    await until(
      'the members',
      async () => (await hasMembers(manager, network.name, [node])) && hasMembers(manager, second.name, [other]),
    );
    await manager.setNames(network.name, namesFor([{ node, aliases: [] }]));
    await manager.setNames(second.name, namesFor([{ node: other, aliases: ['db'] }]));

    const survey = await manager.survey();

    t.deepEqual(survey.networks.toSorted(byName), (await manager.networks()).toSorted(byName));
    t.deepEqual(
      new Map(survey.hosts.map((host) => [host.node, host.id])),
      new Map((await manager.hosts()).map((host) => [host.node, host.id])),
    );
    t.deepEqual(
      survey.members.map((member) => `${member.network} ${member.node}`).toSorted(),
      [`${network.name} ${node}`, `${second.name} ${other}`].toSorted(),
    );
    t.deepEqual(
      survey.names.map((name) => `${name.network} ${name.name} ${name.node}`).toSorted(),
      [
        `${network.name} node-${node} ${node}`,
        `${second.name} db ${other}`,
        `${second.name} node-${other} ${other}`,
      ].toSorted(),
    );
  });
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}
