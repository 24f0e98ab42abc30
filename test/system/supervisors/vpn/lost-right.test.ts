/** Whoever loses the right to reconcile stops in the middle of what it does (O1): another may have begun by then. */
import test from 'ava';
import { namesFor } from '../../../../actors/vpn/drift.ts';
import { NetmakerRounds, roundOf } from './reconciliation-fixture.ts';

const NAMES = 50;

test.serial('nothing more is changed once the right is gone, whatever call is under way', async (t) => {
  const opened = await NetmakerRounds.open(t);
  const { netmaker, fixture } = opened;
  const one = await fixture.cluster('one');
  const node = await fixture.node(one);
  await opened.made();
  for (let alias = 0; alias < NAMES; alias += 1) await fixture.alias(node, one, `a${alias}`);
  let changes = 0;
  let isBusy = false;
  netmaker.fault = (method) => {
    if (method === 'GET') return null;
    changes += 1;
    return isBusy ? 'busy' : null;
  };
  /** A round by whoever may do so many changes. */
  const changesOf = async (changesMax: number): Promise<number> => {
    changes = 0;
    const keep = (): void => {
      if (changes === changesMax) throw new Error('the right is gone');
    };
    await t.throwsAsync(roundOf(fixture, fixture.manager, { keep }), { message: 'the right is gone' });
    return changes;
  };

  t.is(await changesOf(10), 10, 'names');
  isBusy = true;
  t.is(await changesOf(1), 1, 'a change that Netmaker was too busy for');
  isBusy = false;
  const other = await fixture.cluster('other');
  await roundOf(fixture);
  t.is(
    Object.keys(netmaker.state().networks[one.name]?.names ?? {}).length,
    namesFor([{ node, aliases: [] }]).length + NAMES,
  );
  await fixture.move(node, one, other);
  t.is(await changesOf(7), 7, 'a move');
  await opened.settled();
  await fixture.removeNode(node, other);
  await fixture.removeCluster(other);
  t.is(await changesOf(5), 5, 'a network that goes');
  await opened.settled();
  t.deepEqual(netmaker.state(), await opened.expected());
});

test.serial('moves come oldest first, and behind them those that are to be last', async (t) => {
  const { fixture } = await NetmakerRounds.open(t);
  const [a, b] = [await fixture.cluster(), await fixture.cluster()];
  const nodes = [await fixture.node(a), await fixture.node(a), await fixture.node(a)] as const;
  for (const node of nodes) await fixture.move(node, a, b);
  await fixture.sql(
    `update mesh_move set inserted_at = inserted_at - interval '1 hour' * (3 - array_position($1::uuid[], node_id))`,
    [nodes],
  );
  const order = async (...last: (typeof nodes)[number][]) =>
    (await fixture.rows.moves(3, last)).map(({ node }) => node);

  t.deepEqual(await order(), [...nodes]);
  t.deepEqual(await order(nodes[1], nodes[0]), [nodes[2], nodes[1], nodes[0]]);
});
