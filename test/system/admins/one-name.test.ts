/** Two real processes of one name on one database, and two admins with one URL: never together unnoticed. */
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { startTestAdmin } from '../../support/admin.ts';
import { hangAfter } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { prepareAdmin } from '../../support/fleet/admin-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { freeze } from '../../support/frozen.ts';
import { urlOf } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';
import { openPool } from '../../support/database/pool.ts';

/** A test on a machine that does nothing else, in ms. */
const TEST_MS_MAX = 60_000;

test('a second process of a name is refused; a frozen first one loses the name and ends, a killed one is followed', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const connection = await createDatabase(t);
  const env = {
    ...FLEET_KEYS,
    DATABASE_URL: urlOf(connection),
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
  const pool = openPool(t, { ...connection, max: 1 });
  const epoch = (above = 0): Promise<number> =>
    until('the cluster to be owned', async () => {
      const { rows } = await pool.query<{ epoch: string }>(
        'select epoch from cluster_ownership where lease_until > clock_timestamp()',
      );
      const now = Number(rows[0]?.epoch);
      return now > above && now;
    });
  const first = await prepareAdmin(t, 'same', env);
  const second = await prepareAdmin(t, 'same', env);
  const rest = restClient(() => second.url, FLEET_KEYS.MASTER_KEY);
  await first.start();
  await restClient(() => first.url, FLEET_KEYS.MASTER_KEY).post('/clusters', { name: 'field' });

  await t.throwsAsync(second.start(), { message: /the process ended/u });
  t.regex(
    second.program.output,
    /^edge-admin: ADMIN_NAME "same" is that of an admin that runs since \S+: give each admin a name of its own, or stop that one first\.$/mu,
  );
  t.deepEqual(second.program.exit, { code: 1, signal: null });
  t.is(first.program.exit, null);
  t.is(await epoch(), 1, 'the first one owns what it owned');

  await freeze(first.program);
  await second.start();
  const taken = await epoch(1);
  first.program.resume();
  t.deepEqual(await first.program.ended(), { code: 1, signal: null });
  t.regex(
    first.program.output,
    /^edge-admin: Another process has taken over ADMIN_NAME "same", which started at \S+, as this one was not heard of: it ends\. .*$/mu,
  );
  t.true(taken > 1);
  t.is(await epoch(), taken, 'what thawed took nothing back');
  t.is((await rest.call('GET', '/admins/me')).status, 200);

  await second.kill();
  await second.start();
  await t.notThrowsAsync(epoch(taken));
});

test('a second admin behind the balancer of the first is refused, with what to set', async (t) => {
  const behind = { ADMIN_URLS: 'http://balancer.test' };
  const first = await startTestAdmin(t, behind);
  const second = { ...behind, ADMIN_NAME: 'second', DATABASE_URL: urlOf(first.database) };

  await t.throwsAsync(startTestAdmin(t, second), {
    message:
      'ADMIN_OWN_URL is not set, and the first of ADMIN_URLS (http://balancer.test) is that of admin test, which runs now: set ADMIN_OWN_URL at each admin to a URL of that admin alone.',
  });
  await startTestAdmin(t, { ...second, ADMIN_OWN_URL: 'http://second.test' });
});
