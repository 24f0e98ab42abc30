/** Drains of admins as the rows have them: of two at once that would leave nobody, one is refused. */
import test from 'ava';
import type { Pool } from 'pg';
import { StoredPeerAdmins } from '../../../persistence/reads/peer-admins.ts';
import { LONG_WAITS, openedDatabase } from '../../support/database/opened.ts';
import { until } from '../../support/until.ts';

/** Admins that count as alive for as long as the test lasts. */
async function checkedIn(pool: Pool, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { rows } = await pool.query<{ id: string }>(
      'insert into admin_identity (name, id, inserted_at) values ($1, gen_random_uuid(), now()) returning id',
      [name],
    );
    await pool.query(
      `insert into admin (id, name, url, admin_cluster_name, version, max_wireguard_peers, started_at, last_checked_in)
        values ($1, $2, 'http://x.test', 'default', '1.0.0', 10, now(), now() + interval '1 hour')`,
      [rows[0]?.id, name],
    );
  }
}

test('two admins that are drained at once do not both go', async (t) => {
  const { pool } = await openedDatabase(t, LONG_WAITS);
  await checkedIn(pool, ['a', 'b']);
  const admins = new StoredPeerAdmins(pool);
  const waiting = async (): Promise<number> =>
    (
      await pool.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
    ).rows[0]?.count ?? 0;
  const holder = await pool.connect();
  await holder.query('begin');
  await holder.query("select from admin_identity where name = 'a' for update");

  const first = admins.drain('a'); // has looked who else is there, and waits for its row
  await until('the first to wait', async () => (await waiting()) === 1);
  const isOver = { second: false };
  const second = admins.drain('b').finally(() => {
    isOver.second = true;
  });
  await until('the second to wait for the first', async () => isOver.second || (await waiting()) === 2);
  await holder.query('commit');
  holder.release();
  const results = await Promise.all([first, second]);

  t.deepEqual(
    results.map((result) => (result.ok ? result.value.status : result.refusal.code)),
    ['draining', 'conflict'],
  );
});

test('an admin that was stopped is known by its name, and listed only while it drains', async (t) => {
  const { pool } = await openedDatabase(t);
  await checkedIn(pool, ['a', 'b']);
  await pool.query("delete from admin where name = 'b'");
  const admins = new StoredPeerAdmins(pool);
  const names = async () => (await admins.list()).map(({ name, status }) => `${name} ${status}`);

  const before = await names();
  const drained = await admins.drain('b');
  const during = await names();
  const byId = await admins.find(drained.ok ? drained.value.id.toUpperCase() : '');
  await admins.resume('b');

  t.deepEqual([before, during, await names()], [['a live'], ['a live', 'b gone'], ['a live']]);
  t.is(byId?.name, 'b');
  t.like(await admins.drain('c'), { ok: false, refusal: { code: 'not_found' } });
});
