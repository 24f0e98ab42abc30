/** Enrolment keys that anybody makes: few from one address, bounded in all, gone when they are over. */
import test, { type ExecutionContext } from 'ava';
import { PUBLIC_KEYS_MAX } from '../../../persistence/committer/enrollment-key-rows.ts';
import { prunePublicEnrollmentKeys } from '../../../persistence/sweeps/pruned.ts';
import { DATABASE_NOW } from '../../../persistence/sweeps/timestamps.ts';
import { ADMIN_KEYS, startTestAdmin } from '../../support/admin.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { storeCluster } from '../../support/database/stored-rows.ts';
import { until } from '../../support/until.ts';
import { openPool } from '../../support/database/pool.ts';

const PATH = '/clusters/default/enrollment_keys/public';

/** An admin that gives keys to anybody, and its rows. */
async function start(t: ExecutionContext) {
  const admin = await startTestAdmin(t, { PUBLIC_ENROLLMENT_KEY_ENABLED: 'true', DEFAULT_CLUSTER_NAME: 'demo' });
  const pool = openPool(t, { ...admin.database, max: 1 });
  await restClient(() => admin.url, ADMIN_KEYS.MASTER_KEY).post('/clusters', { name: 'demo' });
  return { admin, pool, anybody: restClient(() => admin.url, null) };
}

function countsOf(statuses: readonly number[]): Readonly<Record<number, number>> {
  return Object.fromEntries([...new Set(statuses)].map((one) => [one, statuses.filter((it) => it === one).length]));
}

const insert = `insert into enrollment_key (id, cluster_id, nonce_hash, sealed_key, expired_at, uses_remaining, last_used_at, is_public, inserted_at, updated_at)
  select gen_random_uuid(), (select id from cluster limit 1), sha256(gen_random_uuid()::text::bytea), 's', now() + $2::interval, $3, now() - $4::interval, $5, now(), now() from generate_series(1, $1)`;

test('one address gets some public keys in a minute, and then waits; those that were refused count for nothing', async (t) => {
  const { anybody } = await start(t);

  const status = (): Promise<number> =>
    until('an answer', async () => {
      const answer = await anybody.call('POST', PATH);
      return answer.status === 503 ? null : answer.status; // a crowded machine had no time for it
    });
  const statuses = await Promise.all(Array.from({ length: 100 }, status));

  t.deepEqual(countsOf(statuses), { 201: 20, 429: 80 });
});

test(`at most ${PUBLIC_KEYS_MAX} public keys wait to be used; others are created all the same`, async (t) => {
  const { admin, pool, anybody } = await start(t);
  await pool.query(insert, [PUBLIC_KEYS_MAX - 1, '1 hour', 1, null, true]);

  const statuses = [(await anybody.call('POST', PATH)).status, (await anybody.call('POST', PATH)).status];
  const own = await restClient(() => admin.url, ADMIN_KEYS.MASTER_KEY).call('POST', '/clusters/demo/enrollment_keys', {
    body: {},
  });

  t.deepEqual([...statuses, own.status], [201, 429, 201]);
});

test('public keys that are over are deleted after a while, by the clock of the database, and no others', async (t) => {
  const { pool } = await openedDatabase(t);
  await storeCluster(pool, 'demo');
  for (const [count, expires, uses, usedBefore, isPublic] of [
    [3, '-11 minutes', 1, null, true],
    [2, '40 minutes', 0, '11 minutes', true],
    [1, '-9 minutes', 1, null, true],
    [1, '40 minutes', 0, '9 minutes', true],
    [1, '40 minutes', 1, null, true],
    [1, '-2 days', 0, '2 days', false],
  ] as const)
    await pool.query(insert, [count, expires, uses, usedBefore, isPublic]);

  t.deepEqual(
    [
      await prunePublicEnrollmentKeys(pool, DATABASE_NOW, 4),
      await prunePublicEnrollmentKeys(pool, DATABASE_NOW, 4),
      await prunePublicEnrollmentKeys(pool, DATABASE_NOW, 4),
    ],
    [4, 1, 0],
  );

  t.is((await pool.query('select from enrollment_key')).rowCount, 4);
});
