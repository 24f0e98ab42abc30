/** The metrics of a real admin that does real work: each rises by what happened, and only then. */
import test from 'ava';
import type { AdminMetricsResource } from '../../../api/metrics/resource.ts';
import { scaled } from '../../support/busy.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { metricsProblems } from '../../support/observability/promtool.ts';
import { COUNTER_NAME } from '../../support/observability/rises.ts';
import { until } from '../../support/until.ts';
import { AdminMetricsFixture, RAW, requests } from './admin-metrics-fixture.ts';
import { declareTraffic } from './admin-metrics-traffic.ts';

const checked = await peerTest('promtool');
const fixture = new AdminMetricsFixture();

test.serial('a command on two nodes is four frames each, two completed executions, and one request', async (t) => {
  await fixture.raises(
    t,
    {
      'edge_admin_frames_total{direction="out",type="deliver"}': 2,
      'edge_admin_frames_total{direction="in",type="acknowledge"}': 2,
      'edge_admin_frames_total{direction="in",type="result"}': 2,
      'edge_admin_frames_total{direction="out",type="confirm"}': 2,
      'edge_admin_executions_finished_total{status="completed"}': 2,
      'edge_admin_executions_finished_total{status="cancelled"}': 0,
      [requests('rest', 'create_command', '2xx')]: 1,
      edge_admin_dead_letters_total: 0,
      edge_admin_commits_failed_total: 0,
    },
    async () => fixture.fleet().settled(await fixture.fleet().run('sleep 0.3; true')),
  );

  const now = await fixture.scraped();
  t.true((now['edge_admin_commit_duration_seconds_count'] ?? 0) > 0);
  t.is(now['edge_admin_commit_duration_seconds_count'], now['edge_admin_commit_changes_count']);
  t.true((now['edge_admin_commit_changes_sum'] ?? 0) >= (now['edge_admin_commit_changes_count'] ?? 0));
});

test.serial(
  'open executions are told by status, and those that are cancelled, expire or lose their node are counted',
  async (t) => {
    const away = await enrollRaw(t, fixture.fleet());
    const targeting = { type: 'nodes', node_ids: [away.node_id] };
    const open = { 'edge_admin_executions{status="pending"}': 1 };
    await fixture.raises(t, open, () => fixture.fleet().run('true', { targeting }));
    const { id } = await fixture.fleet().run('true', { targeting });

    await fixture.raises(t, { 'edge_admin_executions_finished_total{status="cancelled"}': 1 }, () =>
      fixture.fleet().rest.post(`/commands/${id}/cancel`),
    );
    await fixture.raises(t, { 'edge_admin_executions_finished_total{status="expired"}': 1 }, () =>
      fixture.fleet().run('true', { targeting, expired_at: new Date(Date.now() + scaled(3_000)).toISOString() }),
    );
    await fixture.raises(
      t,
      {
        'edge_admin_executions_finished_total{status="dropped"}': 1,
        'edge_admin_executions{status="pending"}': -1,
        'edge_admin_actors{kind="node"}': -1,
      },
      () => settledAnswer(() => fixture.fleet().rest.call('DELETE', `/nodes/${away.node_id}`)),
    );
  },
);

test.serial('sessions and their frames: one that talks nonsense is one that was cut', async (t) => {
  const raw = await enrollRaw(t, fixture.fleet());

  await fixture.raises(
    t,
    {
      edge_admin_sessions_opened_total: 1,
      edge_admin_sessions: 1,
      'edge_admin_frames_total{direction="in",type="hello"}': 1,
      'edge_admin_frames_total{direction="out",type="welcome"}': 1,
      edge_admin_sessions_cut_total: 0,
    },
    async () => raw.connect(),
  );
  await fixture.raises(
    t,
    {
      edge_admin_sessions_opened_total: 1,
      edge_admin_sessions_cut_total: 1,
      'edge_admin_frames_total{direction="in",type="invalid"}': 1,
      'edge_admin_frames_total{direction="in",type="hello"}': 0,
    },
    async () => {
      const session = await raw.connect({ greets: false });
      session.sendRaw('no frame');
      await session.closed;
    },
  );
});

test.serial('SSH logins are counted by verdict', async (t) => {
  const raw = await enrollRaw(t, fixture.fleet());
  const password = 'a-password-of-the-tests';
  await fixture.fleet().rest.post(`/nodes/${raw.node_id}/ssh_usernames`, { username: 'somebody', password });
  const session = await raw.connect({ protocol: 2 });
  const tries = async (attempt: number, typed: string) => {
    session.send({
      type: 'verify-ssh',
      attempt,
      username: 'somebody',
      credential: { method: 'password', password: typed },
    });
    await until('the verdict', () =>
      session.frames.some((frame) => frame.type === 'ssh-verdict' && frame.attempt === attempt),
    );
  };

  await fixture.raises(
    t,
    {
      'edge_admin_ssh_logins_total{outcome="refused"}': 1,
      'edge_admin_ssh_logins_total{outcome="accepted"}': 0,
      'edge_admin_frames_total{direction="out",type="ssh-verdict"}': 1,
    },
    () => tries(1, 'another-password-1'),
  );
  await fixture.raises(
    t,
    { 'edge_admin_ssh_logins_total{outcome="refused"}': 0, 'edge_admin_ssh_logins_total{outcome="accepted"}': 1 },
    () => tries(2, password),
  );
});

declareTraffic(fixture);

test.serial('METRICS_KEY opens the metrics, no key is 401, another key 403', async (t) => {
  const statuses = async (key: string | null) => [
    (await fixture.ask(RAW, key)).status,
    (await fixture.ask('/api/v1/admins/me/metrics', key)).status,
  ];

  t.deepEqual(await statuses(FLEET_KEYS.METRICS_KEY), [200, 200]);
  t.deepEqual(await statuses(FLEET_KEYS.MASTER_KEY), [200, 200]);
  for (const key of [FLEET_KEYS.API_KEY, FLEET_KEYS.MCP_KEY, FLEET_KEYS.PROXY_KEY])
    t.deepEqual(await statuses(key), [403, 403]);
  t.deepEqual(await statuses(null), [401, 401]);
  t.is((await fixture.ask(`${RAW}?x=1`)).status, 400);
});

test.serial('what does not exist here is absent and null, and what is known has numbers in both forms', async (t) => {
  const text = await fixture.scraped();
  const { data } = (await (await fixture.ask('/api/v1/admins/me/metrics')).json()) as {
    readonly data: AdminMetricsResource;
  };

  t.deepEqual(
    Object.keys(text).filter((name) => name.includes('broker')),
    [],
  );
  t.is(data.broker, null);
  t.is(data.events.broker_backlog, null);
  t.deepEqual(
    [data.nodes.healthy, data.sessions.open, data.ownership.clusters, data.database.available],
    [text['edge_admin_nodes{status="healthy"}'], text['edge_admin_sessions'], 1, true],
  );
  t.deepEqual(
    [data.ssh.logins_by_outcome['accepted'], data.executions.completed_total, data.scrapes.host.by_outcome['ok']],
    [1, 2, 1],
  );
  t.true(
    (data.memory.resident_bytes ?? 0) > 1_000_000 &&
      (data.event_loop.lag_p99_seconds ?? 0) > 0 &&
      (data.process.open_files ?? 0) > 10,
  );
  t.true((data.ownership.lease_age_seconds ?? 99) < scaled(3));
});

test.serial('over all of this no counter went down, and none went away', (t) => {
  const fell = fixture.scraper.history.slice(1).flatMap((series, index) =>
    Object.entries(fixture.scraper.history[index] ?? {})
      .filter(([name, value]) => COUNTER_NAME.test(name) && !((series[name] ?? Number.NaN) >= value))
      .map(([name]) => name),
  );

  t.deepEqual(fell, []);
  t.true(fixture.scraper.history.length > 30);
});

checked.serial('promtool finds nothing wrong with the metrics of an admin that did all this', async (t) => {
  t.is(await metricsProblems(await (await fixture.ask(RAW)).text()), '');
});
