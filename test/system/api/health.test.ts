/** The health of a whole admin, on every surface, and with its proxies and its records broken for real. */
import test from 'ava';
import { Client } from 'pg';
import type { SubsystemCheck } from '../../../api/views/health.ts';
import { ADMIN_KEYS } from '../../support/admin.ts';
import { httpClient } from '../../support/api/trpc-clients.ts';
import { until } from '../../support/until.ts';
import { startFleet } from './fleet.ts';

const checksAt = async (url: string): Promise<readonly SubsystemCheck[]> =>
  (await (await fetch(`${url}/healthz`)).json()) as readonly SubsystemCheck[];
const words = (checks: readonly SubsystemCheck[]) => checks.map(({ name, healthy, error }) => [name, healthy, error]);

test('check_admin_health has the checks of /healthz; closed proxies and a cluster without an owner record are red', async (t) => {
  const { admin, cluster } = await startFleet(t);
  await cluster('press', 1);
  const client = httpClient(admin.url, ADMIN_KEYS.API_KEY);

  // a check that a busy machine made late is red for a moment
  const [well, same] = await until('it to be healthy', async () => {
    const both = [await client.check_admin_health.query({}), await checksAt(admin.url)] as const;
    const red = [...both[0].checks, ...both[1]].filter(({ healthy }) => !healthy);
    if (red.length > 0) throw new Error(JSON.stringify(red));
    return both;
  });
  t.true(well.healthy);
  t.deepEqual(words(well.checks), words(same));
  t.deepEqual(words(well.checks), [
    ['database', true, null],
    ['database_clock', true, null],
    ['peer_membership', true, null],
    ['ownership_metadata', true, null],
    ['vpn_manager', true, null],
    ['vpn_client', true, 'does not apply: this admin is in no VPN'],
    ['proxy_servers', true, null],
    ['event_broker', true, 'does not apply: no event broker is configured'],
    ['relay', true, 'does not apply: this admin has no relay'],
    ['tls_certificate', true, 'does not apply: this admin serves plain HTTP'],
    ['release_metadata', true, 'does not apply: no release is published'],
  ]);

  await admin.proxies?.close(0);
  const rows = new Client(admin.database);
  await rows.connect();
  t.teardown(() => rows.end());
  const broken = await until('both to be red', async () => {
    await rows.query('delete from cluster_ownership'); // which the admin makes anew
    const seen = await client.check_admin_health.query({});
    const red = seen.checks.filter(({ healthy }) => !healthy).map(({ name }) => name);
    return red.join() === 'ownership_metadata,proxy_servers' ? seen : null;
  });
  t.false(broken.healthy);
  t.deepEqual(words(broken.checks.filter(({ healthy }) => !healthy)), [
    ['ownership_metadata', false, '1 clusters have no record of their owner'],
    ['proxy_servers', false, 'the proxies do not listen'],
  ]);
});

test('what is switched off does not apply', async (t) => {
  const { admin } = await startFleet(t, { ADMIN_PROXY_ENABLED: 'false' });

  t.deepEqual(
    (await checksAt(admin.url)).find(({ name }) => name === 'proxy_servers')?.error,
    'does not apply: the proxies are switched off',
  );
});
