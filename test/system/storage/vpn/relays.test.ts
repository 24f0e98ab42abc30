/** Which relays of admins are in the map, by when their admins checked in. */
import test from 'ava';
import { RELAY_GONE_MS, relayRows } from '../../../../persistence/vpn/relay-rows.ts';
import { openedDatabase } from '../../../support/database/opened.ts';

test('an admin is silent only where others checked in since: none leaves the map while the database is away from all', async (t) => {
  const { pool } = await openedDatabase(t);
  const silentFor = async (ages: Readonly<Record<string, number>>) => {
    for (const [name, ms] of Object.entries(ages))
      await pool.query(
        "update admin set last_checked_in = clock_timestamp() - $2::int * interval '1 ms' where name = $1",
        [name, ms],
      );
    return (await relayRows(pool, 'a').live()).map(({ code }) => code);
  };
  for (const name of ['a', 'b', 'c']) {
    await pool.query(
      `with named as (insert into admin_identity (name, id, inserted_at) values ($1, gen_random_uuid(), now()) returning id)
      insert into admin (id, name, url, admin_cluster_name, version, max_wireguard_peers, started_at, last_checked_in)
        select id, $1, 'http://x.test', 'default', '1.0.0', 10, now(), now() from named`,
      [name],
    );
    const rows = relayRows(pool, name);
    await rows.region();
    await rows.publish({ code: name, hostName: `${name}.test`, port: 44_443, pin: null });
  }

  t.deepEqual(await silentFor({ a: 60_000, b: 61_000, c: 61_000 + RELAY_GONE_MS }), ['a', 'b']);
  t.deepEqual(await silentFor({ a: 0 }), ['a']);
  // the clock of the database was set back: a check-in of later than now is one of now
  t.deepEqual(await silentFor({ a: -3_600_000, b: 1_000, c: RELAY_GONE_MS + 1_000 }), ['a', 'b']);
});
