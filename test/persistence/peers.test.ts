import test from 'ava';
import { v7 } from 'uuid';
import { deletedNodes, readPeerWord } from '../../persistence/peers.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { openedDatabase } from '../support/opened.ts';
import { storeWorld } from './world/world.ts';

test('of some nodes, those are named that are there no more', async (t) => {
  const opened = await openedDatabase(t);
  const { nodes } = await storeWorld(opened);
  const gone = [v7(), v7()] as NodeId[];

  const named = await deletedNodes(opened.pool, [...nodes.map(({ id }) => id as NodeId), ...gone]);

  t.deepEqual(named.toSorted(), gone.toSorted());
  t.deepEqual(await deletedNodes(opened.pool, []), []);
});

test('what is no word of admins is left aside', (t) => {
  for (const payload of ['', 'null', '{', '{"type":"tunnel-wanted"}', '{"type":"of another version"}']) t.is(readPeerWord(payload), null, payload);
});
