/** What an admin reads of the nodes of clusters that come to it: in bounded rounds, whatever waits for them. */
import test from 'ava';
import { OPEN_EXECUTIONS_MAX, type NodeState } from '../../../actors/node/state.ts';
import { createLoader } from '../../../persistence/loader/loader.ts';
import { LOADED_AT_ONCE_MAX, OPEN_AT_FIRST } from '../../../persistence/loader/node-states.ts';
import { column } from '../../support/database/columns.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { countedReads } from '../../support/database/rows-read.ts';
import { roundsOf, storeFleet, storeNodes } from './stored-nodes.ts';

test('many nodes are read in rounds, each with a bounded number of open executions, without the nodes already here', async (t) => {
  const opened = await openedDatabase(t);
  const { cluster, nodeIds, executions } = await storeFleet(opened, 60, OPEN_EXECUTIONS_MAX + 1);
  const few = await storeNodes(opened, cluster, LOADED_AT_ONCE_MAX);
  await opened.pool.query('analyze');
  const here = new Set([nodeIds[0], few[0]]);
  const { pool, readBy } = countedReads(t, opened.pool);
  let rounds: readonly (readonly NodeState[])[] = [];

  const read = await readBy(async () => {
    rounds = await roundsOf(createLoader(pool), cluster, (node) => here.has(node));
  });

  const states = rounds.flat();
  t.deepEqual(rounds.length, 2);
  t.deepEqual(
    states.map(({ record }) => record.id).toSorted(),
    [...nodeIds, ...few].filter((id) => !here.has(id)).toSorted(),
  );
  const many = states.filter(({ record }) => nodeIds.includes(record.id));
  for (const { record, open, backlog } of many) {
    const first = executions.filter(({ node }) => node === record.id).slice(0, OPEN_AT_FIRST);
    t.deepEqual([[...open.keys()], backlog], [column(first, 'id'), true]);
  }
  t.true(read <= many.length * (OPEN_AT_FIRST + 1), `${read} executions are read of ${executions.length}`);
});
