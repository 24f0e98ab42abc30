/** Answers of retried creates as rows. */
import test from 'ava';
import { insertIdempotencyRecord } from '../../../persistence/committer/idempotency-records.ts';
import { openedDatabase } from '../../support/opened.ts';

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
