/** What clients are told of all that goes on, and what many of them cost. */
import test from 'ava';
import type { PeerAdmin } from '../../../api/admin-ports.ts';
import type { Overview } from '../../../actors/resources/overview.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import { HEALTH_KEPT_MS, recentChecks } from '../../../api/health/check-runner.ts';
import { serveApi, SOME_ID } from '../../support/api/fakes.ts';
import { kept } from '../../../transport/net/kept.ts';

const AS_OF = '2026-01-15T10:00:00.000Z';

const ADMIN: PeerAdmin = {
  id: SOME_ID,
  name: 'one',
  status: 'live',
  status_since: AS_OF,
  draining_since: null,
  admin_cluster_name: 'default',
  version: '1.0.0',
  url: null,
  peer_url: null,
  link_version: 1,
  started_at: AS_OF,
  last_checked_in: AS_OF,
  tasks: [],
  problems: [],
  cluster_count: 2,
  node_count: 3,
  edge_node_capacity: 10,
  room: 7,
};

const OVERVIEW: Overview = {
  as_of: AS_OF,
  counted_max: 100_000,
  node_totals: null,
  commands_in_flight: 2,
  executions_in_flight: 7,
  executions_completed: null,
  executions_failed: 1,
  latest_failures: [
    { id: SOME_ID, command_id: SOME_ID, node_id: SOME_ID, command_text: 'exit 7', exit_code: 7, completed_at: AS_OF },
  ],
  deliveries_waiting: null,
  deliveries_dropped: 0,
  events_stored: 12,
  admins: [ADMIN],
  webhooks_in_trouble: null,
};

test('a number that could not be had is null beside the others, and admins say how they are reached from here', async (t) => {
  const link = { from: 'one', state: 'self', since: null, reason: null, latency_ms: null } as const;
  const { request } = await serveApi(t, { ports: { overview: async () => OVERVIEW, adminLink: () => link } });

  const { status, body } = await request('GET', '/api/v1/overview');

  t.is(status, 200);
  t.deepEqual(body?.data, { ...OVERVIEW, admins: [{ ...ADMIN, link }] });
});

test('admins that could not be had are null too', async (t) => {
  const { request } = await serveApi(t, { ports: { overview: async () => ({ ...OVERVIEW, admins: null }) } });

  t.deepEqual((await request('GET', '/api/v1/overview')).body?.data, { ...OVERVIEW, admins: null });
});

test('a database that is away is told as such', async (t) => {
  const overview = () => Promise.reject(new DatabaseUnavailable('reading the overview'));
  const { request } = await serveApi(t, { ports: { overview } });

  t.is((await request('GET', '/api/v1/overview')).status, 503);
});

test('many who ask for the overview or for the health cost one reading of each', async (t) => {
  const counts = { overview: 0, checks: 0 };
  let nowMs = 0;
  const check = async () => {
    counts.checks += 1;
    return [];
  };
  const overview = kept(
    async () => {
      counts.overview += 1;
      return OVERVIEW;
    },
    5_000,
    () => nowMs,
  );
  const recentHealth = recentChecks(check, () => nowMs);
  const { request } = await serveApi(t, { ports: { overview, recentHealth } });

  for (let round = 0; round < 5; round += 1)
    await Promise.all(Array.from({ length: 20 }, () => request('GET', '/api/v1/overview')));
  for (let asked = 0; asked < 100; asked += 1) await recentHealth();
  t.deepEqual(counts, { overview: 1, checks: 1 });

  nowMs = HEALTH_KEPT_MS;
  await recentHealth();
  t.is(counts.checks, 2);
});
