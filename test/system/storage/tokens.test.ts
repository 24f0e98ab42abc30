/** Whose tokens are: read for a whole fleet at once when it connects. */
import test from 'ava';
import { credentials } from '../../../persistence/reads/credentials.ts';
import { countAnsweredBytes } from '../../support/database/answered-bytes.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { countedReads } from '../../support/database/rows-read.ts';
import { storeFleet } from './stored-nodes.ts';

/** Nodes that come at once. */
const NODES = 200;

/** What is answered for each token, in bytes: the ids of a node and its cluster as text, and what frames a row. */
const ANSWER_BYTES_MAX = 110;

test('tokens that are asked about at once are answered in their order, one that is asked twice twice, and none comes back', async (t) => {
  const opened = await openedDatabase(t);
  const { cluster, nodeIds } = await storeFleet(opened, NODES, 0);
  const { nodeByToken } = credentials(opened.pool);
  const tokenHashes = nodeIds.map((id) => Buffer.from(id)); // as these nodes are stored
  const nobodys = Buffer.from('the token of nobody');
  const [first] = tokenHashes;
  await nodeByToken(nobodys); // the connection is open
  const answered = countAnsweredBytes(opened.pool);

  const found = await Promise.all([nobodys, ...tokenHashes, nobodys, first!].map((hash) => nodeByToken(hash)));

  const [one] = nodeIds.map((node) => ({ node, cluster }));
  t.deepEqual(found, [null, ...nodeIds.map((node) => ({ node, cluster })), null, one!]);
  t.true(answered().total < NODES * ANSWER_BYTES_MAX, `${answered().total} bytes`);
});

test('a thousand tokens that are asked about at once read no more nodes than are theirs', async (t) => {
  const opened = await openedDatabase(t);
  const { nodeIds } = await storeFleet(opened, 4_000, 0);
  await opened.pool.query('analyze node');
  const { pool, readBy } = countedReads(t, opened.pool, 'node');
  const { nodeByToken } = credentials(pool);
  const asked = nodeIds.slice(0, 1_000);

  const read = await readBy(() => Promise.all(asked.map((id) => nodeByToken(Buffer.from(id)))));

  t.true(read <= asked.length, `${read} rows`);
});
