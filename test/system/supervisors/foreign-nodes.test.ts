/** What an admin reads of nodes that it is told of: those of others, and those that come to it. */
import test from 'ava';
import { v7 } from 'uuid';
import { HEALTHY, session } from '../../support/actors.ts';
import { until } from '../../support/until.ts';
import { startOwner } from './fixture.ts';

test('an admin reads nothing of nodes that another one owns when a command for them is stored and cancelled', async (t) => {
  const owner = await startOwner(t);
  const nodes = await owner.createNodes(3);
  const read: string[] = [];
  const edge = await startOwner(t, {
    connection: owner.connection,
    loader: (real) => ({
      ...real,
      node: (id) => {
        read.push(id);
        return real.node(id);
      },
    }),
  });

  const { command } = await edge.run(nodes);
  await edge.must('command', command, { type: 'cancel' });

  t.deepEqual(read, []);
  t.is(edge.tree.directory.count('node'), 0);
  t.is(edge.tree.directory.counters.deadLetters, 0);
});

test('while an admin loads a cluster, a cancel reads no nodes of other admins, and is done at its own in the end', async (t) => {
  const owner = await startOwner(t);
  const others = await owner.createNodes(3);
  const moves = await owner.createNode();
  const { command } = await owner.run([...others, moves]);
  const read: string[] = [];
  const isTold = Promise.withResolvers<void>();
  const edge = await startOwner(t, {
    connection: owner.connection,
    loader: (real) => ({
      ...real,
      node: (id) => {
        read.push(id);
        return real.node(id);
      },
      async *nodes(clusters, isHere) {
        for await (const nodes of real.nodes(clusters, isHere)) {
          await isTold.promise;
          yield nodes;
        }
      },
    }),
  });
  await owner.rows('update cluster_ownership set admin_id = $1, epoch = epoch + 1 where cluster_id = $2', [
    edge.adminId,
    moves.cluster,
  ]);
  await until('it is held there', () => edge.tree.held.holds(moves.cluster));

  await edge.must('command', command, { type: 'cancel' });
  const meanwhile = [edge.tree.ownership.isActivated(), edge.tree.directory.count('node'), read.length];
  isTold.resolve();
  await until('it is cancelled', async () => {
    const [row] = await owner.rows<{ status: string }>('select status from command_execution where node_id = $1', [
      moves.node,
    ]);
    return row?.status === 'cancelled';
  });

  t.deepEqual(meanwhile, [false, 0, 0]);
  t.deepEqual(read, []);
});

test('a node that came into a cluster of this admin is started by the first that is said to it there', async (t) => {
  const fixture = await startOwner(t);
  const { node, cluster } = await fixture.createNode();
  const [came, silent] = [v7(), v7()];
  for (const id of [came, silent])
    await fixture.rows(
      `insert into node select (jsonb_populate_record(n, jsonb_build_object('id', $2::text, 'token_hash', '\\x' || md5($2)))).* from node n where id = $1`,
      [node, id],
    );
  const rescan = { type: 'rescan' } as const;

  const body = { type: 'mesh-refused', reason: 'x' } as const;
  const told = { type: 'vpn-told', cluster, body } as const; // with each first reading of a VPN, to all that are in it
  for (const message of [rescan, told])
    fixture.tree.directory.tell({ to: { kind: 'node', id: silent as never }, message });
  t.is(fixture.tree.directory.count('node'), 1, 'it is not known whose it is');
  fixture.tree.directory.tell({ to: { kind: 'node', id: came as never }, message: rescan }, cluster);
  await until('it is here', () =>
    [...fixture.tree.directory.cells('node')].some((one) => one.address.id === came && one.isRunning),
  );

  t.is(fixture.tree.directory.count('node'), 2);
});

test('an agent that is connected here for a node whose cluster another admin owns is sent there by what it says', async (t) => {
  const owner = await startOwner(t);
  const { node, cluster } = await owner.createLiveNode();
  const edge = await startOwner(t, { connection: owner.connection });

  edge.tell('node', node, { type: 'agent-reported', session: session(1), report: HEALTHY });
  await until('it is hung up', () => edge.sessions.hungUp.length > 0);

  t.deepEqual(edge.sessions.hungUp, [{ session: session(1), node: null, code: 4010 }]);
  t.deepEqual(
    owner.sessions.frames.map((frame) => frame.cluster),
    [cluster],
  );
});
