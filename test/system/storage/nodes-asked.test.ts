/** Nodes that are asked for one by one, before their cluster was read: many at once, as a fleet comes back. */
import test from 'ava';
import type { NodeState } from '../../../actors/node/state.ts';
import { createLoader } from '../../../persistence/loader/loader.ts';
import type { NodeId } from '../../../transport/protocol/ids.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { recordedStatements } from '../../support/database/statements.ts';
import { column } from '../../support/database/columns.ts';
import { storeFleet } from './stored-nodes.ts';

test('a hundred nodes that are asked for at once are read by few statements, each with what is its own', async (t) => {
  const opened = await openedDatabase(t);
  const { nodeIds, executions } = await storeFleet(opened, 100, 2);
  const { pool, statements } = recordedStatements(opened.pool);
  const loader = createLoader(pool);
  const unknown = crypto.randomUUID() as NodeId;

  const states = await Promise.all([...nodeIds, unknown].map((id) => loader.node(id)));

  t.deepEqual(
    states.map((state) => state && [state.record.id, [...state.open.keys()], state.backlog]),
    [
      ...nodeIds.map((id) => [
        id,
        column(
          executions.filter(({ node }) => node === id),
          'id',
        ),
        false,
      ]),
      null,
    ],
  );
  t.true(statements.length <= 20, `${statements.length} statements`);
});

test('a node that is asked for twice at once is read as if it was asked for once', async (t) => {
  const opened = await openedDatabase(t);
  const { nodeIds } = await storeFleet(opened, 2, 130); // over half of what a node holds
  const [one, other] = nodeIds as [NodeId, NodeId];
  const loader = createLoader(opened.pool);
  const expected: (NodeState | null)[] = [];
  for (const id of [one, other]) expected.push(await loader.node(id));

  const states = await Promise.all([one, other, one].map((id) => loader.node(id)));

  t.deepEqual(states, [expected[0]!, expected[1]!, expected[0]!]);
  t.deepEqual([states[0]?.open.size, states[0]?.backlog], [130, false]);
});

test('a node whose rows cannot be read keeps away none of those that are asked for with it', async (t) => {
  const opened = await openedDatabase(t);
  const { nodeIds } = await storeFleet(opened, 100, 1);
  await opened.pool.query(`update node set last_seen_at = 'infinity' where id = $1`, [nodeIds[7]]);
  const loader = createLoader(opened.pool);

  const states = await Promise.allSettled(nodeIds.map((id) => loader.node(id)));

  t.deepEqual(
    states.map((one) => (one.status === 'fulfilled' ? one.value?.record.id : (one.reason as Error).name)),
    nodeIds.map((id, index) => (index === 7 ? 'TypeError' : id)),
  );
});
