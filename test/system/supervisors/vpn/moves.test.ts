/** Nodes that go from one network to another, with crashes in between. */
import test from 'ava';
import { hostNameOf, type VpnManager } from '../../../../actors/vpn/vpn.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { hangAfter } from '../../../support/busy.ts';
import { seededNumbers } from '../../../support/seeded.ts';
import type { FixtureCluster } from '../../../support/vpn/database-fixture.ts';
import { crashing, NetmakerRounds, roundOf } from './reconciliation-fixture.ts';

const OPERATIONS = 1_000;

test.serial('a move is finished from each step, and a node is never in two networks', async (t) => {
  const opened = await NetmakerRounds.open(t);
  const { netmaker, fixture } = opened;
  const clusters = [await fixture.cluster('a'), await fixture.cluster('b'), await fixture.cluster('c')] as const;
  const node = await fixture.node(clusters[0]);
  await fixture.alias(node, clusters[0], 'db');
  await opened.made();
  let from: FixtureCluster = clusters[0];
  for (let calls = 1, moves = 0; moves < 12; calls += 1) {
    const to = clusters[(moves + 1) % 3] as FixtureCluster;
    const [stored] = await fixture.sql<{ name: string }>(
      'select c.name from node n join cluster c on c.id = n.cluster_id where n.id = $1',
      [node],
    );
    if (`cluster-${stored?.name ?? ''}` !== to.name) await fixture.move(node, from, to);
    const outcome = await roundOf(
      fixture,
      crashing(fixture.manager, calls % 9, calls % 2 === 0, () => t.true(opened.peopled().length <= 1)),
    ).then(
      () => 'done',
      () => 'crashed',
    );
    if (outcome === 'crashed') continue;
    await opened.settled();
    t.deepEqual(netmaker.state(), await opened.expected());
    t.deepEqual(await fixture.sql('select * from mesh_move'), []);
    from = to;
    moves += 1;
  }
});

test.serial(
  'a node that was moved on before the first move was finished ends where it should, and was in one network at a time',
  async (t) => {
    const opened = await NetmakerRounds.open(t);
    const { netmaker, fixture } = opened;
    const [a, b, c] = [await fixture.cluster('a'), await fixture.cluster('b'), await fixture.cluster('c')];
    const node = await fixture.node(a);
    await opened.made();
    const alone = (manager: VpnManager): VpnManager =>
      crashing(manager, 0, false, () => t.true(opened.peopled().length <= 1));

    await fixture.move(node, a, b);
    await t.throwsAsync(roundOf(fixture, crashing(fixture.manager, 4, true)));
    await fixture.move(node, b, c);
    await roundOf(fixture, alone(fixture.manager));
    await fixture.move(node, c, b);
    await fixture.move(node, b, c);
    await roundOf(fixture, alone(fixture.manager));
    await opened.settled();

    t.deepEqual(netmaker.state(), await opened.expected());
    t.deepEqual(netmaker.state().networks['cluster-c']?.hosts, [hostNameOf(node)]);
  },
);

test.serial('a move that was read before the node was moved again is not taken for the new one', async (t) => {
  const { fixture } = await NetmakerRounds.open(t);
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
  `${OPERATIONS} random joins, leaves, moves, names and deletions with crashes between end in the right networks`,
  async (t) => {
    t.timeout(hangAfter(300_000));
    const opened = await NetmakerRounds.open(t, { lateDeletes: true });
    const { netmaker, fixture } = opened;
    const numbers = seededNumbers(20_261_121);
    const random = () => numbers() / 2 ** 32;
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
      if (random() < 0.06) await opened.entered();
      if (random() < 0.08)
        await roundOf(fixture, crashing(fixture.manager, 1 + Math.floor(random() * 25), random() < 0.5)).catch(() => {
          crashes += 1;
        });
      if (random() < 0.1) netmaker.settle();
    }
    for (let times = 0; times < 3; times += 1) {
      await opened.settled();
      await opened.entered();
    }
    await opened.settled();

    t.true(crashes > 20, `${crashes} crashes`);
    t.deepEqual(netmaker.state(), await opened.expected());
    t.deepEqual(await fixture.sql('select * from mesh_move'), []);
  },
);
