/** Who is in the list of admins, as what, and for how long. */
import test from 'ava';
import type { Listener } from '../../../persistence/connections/listening.ts';
import { pruneAdminNames } from '../../../persistence/sweeps/gone-admins.ts';
import { DATABASE_NOW } from '../../../persistence/sweeps/timestamps.ts';
import { systemClock } from '../../../transport/net/clock.ts';
import { arrived, keepAlive, registryOf } from '../../support/admin-registry.ts';
import { IN_THIS_DATABASE } from '../../support/database/locks.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { storeCluster } from '../../support/database/stored-rows.ts';
import { until } from '../../support/until.ts';

test('a process whose name was taken over is told so at each check-in, and takes nothing from the other one', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const rows = async () => (await pool.query('select name, instance_id, url from admin')).rows as unknown[];
  const [older, newer] = [registryOf(database, 'a'), registryOf(database, 'a', { url: 'http://newer' })];
  const id = await older.checkIn();

  t.is(await arrived(newer), id);
  for (let round = 0; round < 2; round += 1)
    await t.throwsAsync(older.checkIn(), {
      name: 'NameTakenOver',
      message: /^Another process has taken over ADMIN_NAME "a", which started at 20.*: it ends\./u,
    });
  await older.checkOut();

  t.regex((await older.takenOver).message, /taken over ADMIN_NAME "a"/u);
  t.deepEqual(await rows(), [{ name: 'a', instance_id: newer.instanceId, url: 'http://newer' }]);
  t.is(await newer.checkIn(), id);
  await newer.checkOut();
  t.deepEqual(await rows(), []);
});

test('a name is taken from the process that was seen to have it, and from no other', async (t) => {
  const database = await openedDatabase(t);
  const [first, second, third] = [registryOf(database, 'a'), registryOf(database, 'a'), registryOf(database, 'a')];
  await first.checkIn();
  const seen = await second.holder();

  t.is(seen?.instanceId, first.instanceId);
  t.is(typeof (await third.register(seen)), 'string');
  t.is(await second.register(seen), null);
  t.is(await second.register(null), null);
});

test('an admin whose row was forgotten is in the list again with its next check-in', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const admin = registryOf(database, 'a');
  const id = await admin.checkIn();
  await pool.query('delete from admin');

  t.is(await admin.checkIn(), id);
});

test('no two admins that run have one URL, and who comes second is told which setting to set', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const at = (name: string, own: string, setting: 'ADMIN_OWN_URL' | 'ADMIN_URLS', peer = own) =>
    registryOf(database, name, {
      url: own,
      peerUrl: peer,
      mine: [{ url: own, setting }, ...(peer === own ? [] : [{ url: peer, setting: 'ADMIN_PEER_URL' } as const])],
    });
  const first = at('a', 'http://lb', 'ADMIN_URLS', 'http://10.0.0.1:44000');
  await first.checkIn();
  await keepAlive(pool);

  await t.throwsAsync(at('b', 'http://lb/', 'ADMIN_URLS').checkIn(), {
    name: 'SharedAdminUrl',
    message:
      'ADMIN_OWN_URL is not set, and the first of ADMIN_URLS (http://lb/) is that of admin a, which runs now: set ADMIN_OWN_URL at each admin to a URL of that admin alone.',
  });
  await t.throwsAsync(at('b', 'http://lb', 'ADMIN_OWN_URL').checkIn(), {
    message:
      'ADMIN_OWN_URL (http://lb) is that of admin a too, which runs now: set it at each admin to a URL of that admin alone.',
  });
  for (const peer of ['http://lb', 'http://10.0.0.1:44000'])
    await t.throwsAsync(at('b', 'http://b', 'ADMIN_OWN_URL', peer).checkIn(), {
      message: `ADMIN_PEER_URL (${peer}) is that of admin a too, which runs now: set it at each admin to a URL of that admin alone.`,
    });
  await at('b', 'http://b', 'ADMIN_OWN_URL').checkIn();
  t.is(
    typeof (await arrived(at('a', 'http://lb', 'ADMIN_URLS'))),
    'string',
    'its own former process is no other admin',
  );
});

test('of many admins with one URL that start at once, one comes in', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  // whoever comes in is there for longer than the others take to come
  await pool.query(
    "create function stay() returns trigger language plpgsql as $$ begin new.last_checked_in := clock_timestamp() + interval '1 hour'; return new; end $$",
  );
  await pool.query('create trigger stays before insert on admin for each row execute function stay()');
  const starts = await Promise.allSettled(
    ['a', 'b', 'c', 'd'].map((name) => registryOf(database, name, { url: 'http://lb' }).checkIn()),
  );

  t.is(starts.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('an admin that is gone keeps no URL from others', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  await registryOf(database, 'a', { url: 'http://lb' }).checkIn();
  await pool.query(`update admin set last_checked_in = clock_timestamp() - interval '4 s'`);

  t.is(typeof (await registryOf(database, 'b', { url: 'http://lb' }).checkIn()), 'string');
});

test('where an admin is reached is compared again when it is known', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const where = { url: 'http://b', peerUrl: '' };
  const late = registryOf(database, 'b', where, {
    own: () => where.url,
    peer: () => where.peerUrl,
    mine: () => (where.peerUrl === '' ? [] : [{ url: where.peerUrl, setting: 'ADMIN_PEER_URL' }]),
  });
  await late.checkIn();
  await registryOf(database, 'a', { url: 'http://a' }).checkIn();
  await keepAlive(pool);

  where.peerUrl = 'http://a';

  await t.throwsAsync(late.checkIn(), { name: 'SharedAdminUrl' });
});

test('the lock of a name is had by one connection at a time, as long as it lasts, and again by the one that follows it', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const [first, second, other] = [0, 1, 2].map(() => database.listen(systemClock)) as [Listener, Listener, Listener];
  t.teardown(() => Promise.all([first.stop(), second.stop(), other.stop()]));
  // Of this database: other tests have theirs on the same server.
  const held = `from pg_locks where locktype = 'advisory' and granted and ${IN_THIS_DATABASE}`;
  const holders = async () =>
    (await pool.query<{ pid: number }>(`select pid ${held} order by pid`)).rows.map(({ pid }) => pid);

  t.deepEqual([await first.lock('a'), await second.lock('a'), await other.lock('b')], [true, false, true]);
  const before = await holders();
  await pool.query(`select pg_terminate_backend(pid) ${held}`);
  await until('both have dialled again', async () => {
    const now = await holders();
    return now.length === 2 && now.every((pid) => !before.includes(pid));
  });
  t.false(await second.lock('a'));
  await first.stop();

  await until('the lock', () => second.lock('a'));
  t.pass();
});

test('a name without an admin for 30 days is forgotten, unless it still has something', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const ids = new Map<string, string>();
  for (const name of ['runs', 'long-gone', 'gone', 'owns', 'drains', 'relays']) {
    const admin = registryOf(database, name);
    ids.set(name, await admin.checkIn());
    if (name !== 'runs') await admin.checkOut();
  }
  const cluster = await storeCluster(pool, 'one');
  await pool.query(
    'insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) values ($1, $2, 1, now())',
    [cluster, ids.get('owns')],
  );
  await pool.query(`update admin_identity set draining_since = now() where name = 'drains'`);
  await pool.query(`update admin_identity set relay_region = 901 where name = 'relays'`);
  await pool.query(
    `update admin_identity set gone_since = clock_timestamp() - case name when 'gone' then interval '29 days' else interval '31 days' end`,
  );

  t.deepEqual([await pruneAdminNames(pool, DATABASE_NOW), await pruneAdminNames(pool, DATABASE_NOW)], [1, 0]);

  const { rows } = await pool.query<{ name: string }>('select name from admin_identity order by name');
  t.deepEqual(
    rows.map(({ name }) => name),
    ['drains', 'gone', 'owns', 'relays', 'runs'],
  );
  t.not(await registryOf(database, 'long-gone').checkIn(), ids.get('long-gone'));
});
