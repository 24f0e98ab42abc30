/** How checks run, and what of their failures is told. */
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { WHOLE } from '../../../../actors/standing.ts';
import { adminCluster } from '../../../../api/health/admin-cluster.ts';
import { DoesNotApply, HealthProblem, retried, runChecks, sharedChecks } from '../../../../api/health/check-runner.ts';
import type { HealthPorts } from '../../../../api/health/ports.ts';
import { OWNERSHIP_QUIET_MS_MAX, subsystems, VPN_MANAGER_TRIES_MAX } from '../../../../api/health/subsystems.ts';
import { wellPorts as ports } from '../../../support/observability/health-ports.ts';

const failing = (error: unknown) => async () => {
  throw error;
}; // eslint-disable-line typescript/only-throw-error -- a check may throw anything

const errors = async (checks: Parameters<typeof runChecks>[0]) =>
  Object.fromEntries(
    (await runChecks(checks))
      .filter(({ healthy, error }) => !healthy || error !== null)
      .map(({ name, healthy, error }) => [name, [healthy, error]]),
  );

test('of a failure is told what the check says of it, and else nothing but that it failed', async (t) => {
  const hostile = new Error('connect ECONNREFUSED db-secret-host.internal:5432 for user canary with password hunter2');

  const checks = await runChecks([
    { name: 'fine', check: () => Promise.resolve() },
    { name: 'absent', check: failing(new DoesNotApply('there is none')) },
    { name: 'known', check: failing(new HealthProblem('it is full')) },
    { name: 'database', check: failing(new DatabaseUnavailable('lost db-secret-host', { cause: hostile })) },
    { name: 'unknown', check: failing(hostile) },
    { name: 'nothing', check: failing(undefined) },
    {
      name: 'at once',
      check: () => {
        throw hostile;
      },
    },
  ]);

  t.deepEqual(
    checks.map(({ name, healthy, error }) => [name, healthy, error]),
    [
      ['fine', true, null],
      ['absent', true, 'does not apply: there is none'],
      ['known', false, 'it is full'],
      ['database', false, 'the database does not answer'],
      ['unknown', false, 'it does not answer as it should'],
      ['nothing', false, 'it does not answer as it should'],
      ['at once', false, 'it does not answer as it should'],
    ],
  );
  t.true(checks.every(({ duration_ms: ms }) => Number.isInteger(ms) && ms >= 0));
});

test('whoever asks while checks run shares them; the next one after that gets a new run', async (t) => {
  let runs = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = sharedChecks([
    {
      name: 'slow',
      check: () => {
        runs += 1;
        return promise;
      },
    },
  ]);

  const asked = Array.from({ length: 1_000 }, () => check());
  resolve();
  await Promise.all(asked);
  await check();

  t.is(runs, 2);
});

test('a check that does not answer fails at its time limit, and holds nobody up longer', async (t) => {
  const later = new AbortController();
  const checked = runChecks([{ name: 'silent', check: () => new Promise(() => {}) }]);
  const late = delay(5_500, null, { signal: later.signal }).catch(() => null);

  const [check] = (await Promise.race([checked, late])) ?? []; // in this order also where both times pass at once
  later.abort();

  t.deepEqual([check?.healthy, check?.error], [false, 'it did not answer within 5 s']);
});

test('an admin that is well, with all that it has and with nothing of it', async (t) => {
  t.deepEqual(
    (await runChecks(subsystems(ports()))).map(({ name, healthy, error }) => [name, healthy, error]),
    [
      ['database', true, null],
      ['database_clock', true, null],
      ['peer_membership', true, null],
      ['ownership_metadata', true, null],
      ['vpn_manager', true, null],
      ['vpn_client', true, null],
      ['proxy_servers', true, null],
      ['event_broker', true, null],
      ['relay', true, null],
      ['tls_certificate', true, null],
      ['release_metadata', true, null],
    ],
  );
  t.deepEqual(
    await errors(
      subsystems(
        ports({
          vpnManager: null,
          vpnClient: { state: () => ({ isHere: false, problem: 'it is not root', note: null }) },
          proxies: null,
          broker: null,
          relay: () => ({ own: null, isMapMissing: false }),
          certificate: null,
          releasesLeftMs: async () => null,
        }),
      ),
    ),
    {
      vpn_manager: [true, 'does not apply: there is no VPN manager'],
      vpn_client: [true, 'does not apply: this admin is in no VPN'],
      proxy_servers: [true, 'does not apply: the proxies are switched off'],
      event_broker: [true, 'does not apply: no event broker is configured'],
      relay: [true, 'does not apply: this admin has no relay'],
      tls_certificate: [true, 'does not apply: this admin serves plain HTTP'],
      release_metadata: [true, 'does not apply: no release is published'],
    },
  );
  t.deepEqual(await errors(adminCluster(ports())), {});
});

test('each subsystem fails by itself, with its own words', async (t) => {
  const { rows } = ports();
  const cases: readonly (readonly [Partial<HealthPorts>, string, string])[] = [
    [{ rows: { ...rows, write: failing(new DatabaseUnavailable('x')) } }, 'database', 'the database does not answer'],
    [
      { rows: { ...rows, write: () => Promise.resolve(false) } },
      'database',
      'it answers, and takes no writes: its disk is full, or it is read-only',
    ],
    [
      { clock: { skewMs: () => 93_400, isSkewed: () => true } },
      'database_clock',
      "the clock of this machine is 93 s ahead of the database's: nothing is pruned until they agree",
    ],
    [
      { clock: { skewMs: () => -6_000, isSkewed: () => true } },
      'database_clock',
      "the clock of this machine is 6 s behind the database's: nothing is pruned until they agree",
    ],
    [
      { rows: { ...rows, eventsLieBehind: () => Promise.resolve(true) } },
      'database',
      'events are stored behind what was published: start this admin again',
    ],
    [
      { rows: { ...rows, registrationAgeMs: () => Promise.resolve(null) } },
      'peer_membership',
      'this admin is not registered: its peers do not know of it',
    ],
    [
      { rows: { ...rows, registrationAgeMs: () => Promise.resolve(5_001) } },
      'peer_membership',
      'this admin has not checked in in time: its peers take it for gone',
    ],
    [
      { peers: { unheard: () => Promise.resolve({ total: 3, unheard: 2 }) } },
      'peer_membership',
      '2 of 3 admins that check in are not heard here: what they notify does not arrive',
    ],
    [{ leasesQuietMs: () => 5_001 }, 'ownership_metadata', 'leases were not renewed in time'],
    [
      { rows: { ...rows, unrecordedClusters: () => Promise.resolve(3) } },
      'ownership_metadata',
      '3 clusters have no record of their owner',
    ],
    [{ vpnManager: { status: () => Promise.resolve('it answers 500') } }, 'vpn_manager', 'it answers 500'],
    [
      { vpnClient: { state: () => ({ isHere: true, problem: 'no handshake', note: null }) } },
      'vpn_client',
      'no handshake',
    ],
    [{ proxies: () => ({ http: false, socks5: true }) }, 'proxy_servers', 'the HTTP proxy does not listen'],
    [{ proxies: () => ({ http: true, socks5: false }) }, 'proxy_servers', 'the SOCKS5 proxy does not listen'],
    [{ proxies: () => ({ http: false, socks5: false }) }, 'proxy_servers', 'the proxies do not listen'],
    [
      { broker: { isReached: () => false, backlog: (max) => Promise.resolve(Math.min(12, max)) } },
      'event_broker',
      'the broker cannot be reached or refuses: 12 events wait',
    ],
    [
      { broker: { isReached: () => false, backlog: (max) => Promise.resolve(max) } },
      'event_broker',
      'the broker cannot be reached or refuses: over 100000 events wait',
    ],
  ];
  for (const [more, name, error] of cases)
    t.deepEqual(await errors(subsystems(ports(more))), { [name]: [false, error] });

  const cluster: readonly (readonly [Partial<HealthPorts>, string, string])[] = [
    [{ rows: { ...rows, write: failing(new DatabaseUnavailable('x')) } }, 'database', 'the database does not answer'],
    [
      { rows: { ...rows, admins: () => Promise.resolve({ total: 2, silent: 1, draining: 0 }) } },
      'admins',
      '1 of 2 admins have not checked in for over 5 s',
    ],
    [
      { links: () => ({ total: 2, unreached: 1 }) },
      'admin_links',
      '1 of 2 other admins is not reached from here: what it owns is asked of it by way of the database, and news of it come late',
    ],
    [
      { rows: { ...rows, clusters: () => Promise.resolve({ total: 7, ownerless: 2 }) } },
      'cluster_owners',
      '2 of 7 clusters have no live owner',
    ],
    [
      { rows: { ...rows, idleTasks: () => Promise.resolve(['sweeps', 'webhooks']) } },
      'tasks',
      'no live admin does what one should: sweeps, webhooks',
    ],
    [
      { standing: () => ({ ...WHOLE, kind: 'overfull' }) },
      'capacity',
      'there are more nodes than the admins have room for',
    ],
    [
      {
        standing: () => ({
          kind: 'fragmented',
          orphans: [
            { cluster: 'c' as never, name: 'mine', nodes: 1 },
            { cluster: 'd' as never, name: 'yours', nodes: 1 },
          ],
          roomMax: 0,
        }),
      },
      'capacity',
      'the admins have room for all nodes together, but none for the cluster mine (1 node; the largest room is 0), and so for 1 more',
    ],
  ];
  for (const [more, name, error] of cluster)
    t.deepEqual(await errors(adminCluster(ports(more))), { [name]: [false, error] });
});

test('health notes what an admin lacks by the fault of others, or loads late, and does not take it out of service', async (t) => {
  const note = 'left out of the VPN: node 0190 (its WireGuard key is none)';
  const late = (clusters: number) => ({
    lateClusters: (ms: number) => (ms === OWNERSHIP_QUIET_MS_MAX ? clusters : 0),
  });
  const cases: readonly (readonly [more: Partial<HealthPorts>, name: string, note: string])[] = [
    [{ vpnClient: { state: () => ({ isHere: true, problem: null, note }) } }, 'vpn_client', note],
    [late(1), 'ownership_metadata', 'the nodes of 1 cluster could not be read in time'],
    [late(3), 'ownership_metadata', 'the nodes of 3 clusters could not be read in time'],
  ];

  for (const [more, of, error] of cases) {
    const checks = await runChecks(subsystems(ports(more)));
    t.like(
      checks.find(({ name }) => name === of),
      { healthy: true, error },
    );
    t.true(checks.every(({ healthy }) => healthy));
  }
});

test('a check with tries of its own passes when one of them does, and fails with the last one', async (t) => {
  let tries = 0;
  const passingAt = (passing: number) => () => {
    tries += 1;
    return tries >= passing ? Promise.resolve() : Promise.reject(new HealthProblem(`try ${tries}`));
  };

  await retried(passingAt(VPN_MANAGER_TRIES_MAX), VPN_MANAGER_TRIES_MAX, 1)();
  t.is(tries, VPN_MANAGER_TRIES_MAX);
  tries = 0;
  await t.throwsAsync(retried(passingAt(99), VPN_MANAGER_TRIES_MAX, 1)(), { message: `try ${VPN_MANAGER_TRIES_MAX}` });
  t.is(tries, VPN_MANAGER_TRIES_MAX);
});

test('an admin that drains, or does not get to another one, says so and stays in service', async (t) => {
  const { rows } = ports();
  const drains = { rows: { ...rows, isDraining: () => Promise.resolve(true) } };
  const links = () => ({ total: 3, unreached: 2 });

  t.deepEqual(await errors(subsystems(ports({ ...drains, links }))), {
    peer_membership: [
      true,
      '2 of 3 other admins are not reached from here: what they own is asked of them by way of the database, and news of them come late; this admin drains: it gives its clusters away and takes none',
    ],
  });
  t.deepEqual(
    await errors(
      adminCluster(ports({ rows: { ...rows, admins: () => Promise.resolve({ total: 2, silent: 0, draining: 1 }) } })),
    ),
    { admins: [true, '1 of 2 admins drains'] },
  );
});
