/** Members by their keys. */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { insertNodes } from '../../../../bench/fleet/nodes.ts';
import { ANSWER_MS_MAX, ANSWERS_MAX, vpnMemberLookUp } from '../../../../persistence/vpn/key-look-ups.ts';
import { openedDatabase } from '../../../support/database/opened.ts';

const KEY = 'a'.repeat(42).concat('A=');

/** Two nodes, one of them a member. */
async function start(t: Parameters<typeof openedDatabase>[0]) {
  const { pool } = await openedDatabase(t);
  const client = await pool.connect();
  await insertNodes(client, 2);
  client.release();
  const {
    rows: [member, other],
  } = await pool.query<{ node: string; cluster: string }>(
    'select id as node, cluster_id as cluster from node order by id',
  );
  await pool.query(
    `insert into mesh_member (node_id, cluster_id, host_index, public_key, endpoints, inserted_at, updated_at) values ($1, $2, 2, $3, '[]', now(), now())`,
    [member?.node, member?.cluster, KEY],
  );
  let nowMs = 0;
  let queries = 0;
  const asked = {
    query: (...words: Parameters<typeof pool.query>) => {
      queries += 1;
      return pool.query(...words);
    },
  } as typeof pool;
  return {
    pool,
    member,
    other,
    lookUp: vpnMemberLookUp(asked, () => nowMs),
    pass: (ms: number) => {
      nowMs += ms;
    },
    queries: () => queries,
  };
}

test("a key is that of its node, and nobody's when nobody has it", async (t) => {
  const { lookUp, member } = await start(t);

  t.deepEqual(await Promise.all([lookUp(KEY), lookUp('strange')]), [
    { node: member?.node, cluster: member?.cluster },
    null,
  ]);
});

test('those who ask together share a query, and an answer is good for a moment', async (t) => {
  const { lookUp, queries, pass } = await start(t);

  await Promise.all([KEY, 'one', 'other', KEY].map((key) => lookUp(key)));
  t.is(queries(), 1);
  pass(ANSWER_MS_MAX - 1);
  await lookUp('one');
  t.is(queries(), 1);
  pass(1);
  await lookUp('one');
  t.is(queries(), 2);
});

test('a member that left, and one that came, are known within the life of an answer', async (t) => {
  const { lookUp, pool, pass, other } = await start(t);
  await Promise.all([lookUp(KEY), lookUp('new')]);
  await pool.query('update mesh_member set public_key = $1, node_id = $2', ['new', other?.node]);
  pass(ANSWER_MS_MAX);

  t.deepEqual(
    (await Promise.all([lookUp(KEY), lookUp('new')])).map((found) => found?.node ?? null),
    [null, other?.node ?? ''],
  );
});

test('any number of strangers makes room for members', async (t) => {
  const { lookUp, member } = await start(t);
  await lookUp(KEY);

  await Promise.all(Array.from({ length: ANSWERS_MAX + 10 }, () => lookUp(randomUUID())));

  t.is((await lookUp(KEY))?.node, member?.node as never);
});

test('while the database is away the answer is a refusal, which is not kept', async (t) => {
  const { pool, member } = await start(t);
  let isAway = true;
  const lookUp = vpnMemberLookUp(
    {
      query: (...words: Parameters<typeof pool.query>) =>
        isAway
          ? Promise.reject(Object.assign(new Error('connection terminated'), { code: 'ECONNREFUSED' }))
          : pool.query(...words),
    } as typeof pool,
    () => 0,
  );
  await t.throwsAsync(lookUp(KEY), { name: 'DatabaseUnavailable' });

  isAway = false;

  t.is((await lookUp(KEY))?.node, member?.node as never);
});
