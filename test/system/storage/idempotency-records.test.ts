/** Answers of retried creates as rows. */
import test from 'ava';
import { v7 } from 'uuid';
import type { Write } from '../../../actors/writes.ts';
import { insertIdempotencyRecord } from '../../../persistence/committer/idempotency-records.ts';
import type { ClusterId, CommandId } from '../../../transport/protocol/ids.ts';
import { commandRecord, NOW_MS } from '../../support/actors.ts';
import { change, openFixture } from '../../support/database/committer-fixture.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';

const REMEMBERED = {
  scope: 'create_ssh_username:api',
  key: 'k',
  bodyHash: 'hash-of-a-body-with-a-password',
  answer: { id: 'ssh-username' },
};

test('an answer comes back with the hash of its body, and neither can be read from the row', async (t) => {
  const { pool, reads, vault } = await openedDatabase(t);

  t.true(await insertIdempotencyRecord(pool, vault, REMEMBERED));
  t.false(await insertIdempotencyRecord(pool, vault, { ...REMEMBERED, bodyHash: 'another' }));

  t.deepEqual(await reads.idempotencyRecord(REMEMBERED.scope, 'k'), {
    bodyHash: REMEMBERED.bodyHash,
    answer: REMEMBERED.answer,
  });
  const {
    rows: [row],
  } = await pool.query<{ row: string }>('select k::text as row from idempotency_key k');
  t.false(
    [REMEMBERED.bodyHash, 'ssh-username'].some((text) => row?.row.includes(text) ?? true),
    row?.row ?? 'no row',
  );
});

test('an answer that is promised no longer gives its place to that of another create', async (t) => {
  const { pool, reads, vault } = await openedDatabase(t);
  await insertIdempotencyRecord(pool, vault, REMEMBERED);
  await pool.query(`update idempotency_key set inserted_at = now() - interval '24 hours'`);
  t.is(await reads.idempotencyRecord(REMEMBERED.scope, 'k'), null);
  const other = { ...REMEMBERED, bodyHash: 'another', answer: { id: 'another' } };

  t.true(await insertIdempotencyRecord(pool, vault, other));

  t.deepEqual(await reads.idempotencyRecord(REMEMBERED.scope, 'k'), { bodyHash: 'another', answer: { id: 'another' } });
});

test('an idempotency key is free again once its answer is promised no longer, although nobody has swept it yet', async (t) => {
  const fixture = await openFixture(t);
  const creates: Readonly<Record<string, (body: string) => Write>> = {
    hot: () => ({ kind: 'command-created', command: commandRecord({ id: v7() as CommandId }), executions: [] }),
    cold: (body) => ({
      kind: 'cluster-created',
      id: v7() as ClusterId,
      name: body,
      ipv4Range: `10.0.${body}.0/24`,
      ipv6Range: `fd00:${body}::/64`,
      nodeLimit: null,
      atMs: NOW_MS,
    }),
  };

  for (const [scope, create] of Object.entries(creates)) {
    const commit = (body: string): Promise<string[]> =>
      fixture.commit(null, [
        { ...change(create(body)), idempotencyRecord: { scope, key: "it's k\\?", bodyHash: body, answer: {} } },
      ]);
    const first = await commit('1');
    await fixture.rows(`update idempotency_key set inserted_at = now() - interval '24 hours' where scope = $1`, [
      scope,
    ]);

    const [second, third] = [await commit('2'), await commit('3')];

    t.deepEqual([...first, ...second, ...third], ['ok', 'ok', 'idempotency_conflict'], scope);
  }
});

test('an answer that takes the place of an old one while that is to be forgotten stays', async (t) => {
  const { pool, reads, vault } = await openedDatabase(t);
  await insertIdempotencyRecord(pool, vault, REMEMBERED);
  await pool.query(`update idempotency_key set inserted_at = now() - interval '25 hours'`);
  const client = await pool.connect();
  t.teardown(() => client.release());
  await client.query('begin');
  await insertIdempotencyRecord(client, vault, { ...REMEMBERED, answer: { id: 'another' } });

  const { count } = await sweepsOf(pool).prunings.idempotencyRecords();
  await client.query('commit');

  t.is(count, 0);
  t.like(await reads.idempotencyRecord(REMEMBERED.scope, 'k'), { answer: { id: 'another' } });
});

test('an answer that an earlier version kept, with the hash beside it, comes back too', async (t) => {
  const { pool, reads, vault } = await openedDatabase(t);
  const { scope, key, bodyHash, answer } = REMEMBERED;
  await pool.query('insert into idempotency_key (scope, key, body_hash, sealed_answer) values ($1, $2, $3, $4)', [
    scope,
    key,
    bodyHash,
    vault.seal(JSON.stringify(answer), `idempotency_key:${scope}:${key}`),
  ]);

  t.deepEqual(await reads.idempotencyRecord(scope, key), { bodyHash, answer });
});
