/** The metrics of a real admin that does real work: each rises by what happened, and only then. */
import { connect } from 'node:net';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import type { AdminMetricsResource } from '../../../api/metrics/resource.ts';
import { currentClient } from '../../support/api/mcp-clients.ts';
import { httpClient } from '../../support/api/trpc-clients.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { peerTest } from '../../support/peer-test.ts';
import { metricsProblems } from '../../support/promtool.ts';
import { answers, openReceiver } from '../../support/receiver.ts';
import { seriesOf } from '../../support/series.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { connectThrough } from '../../support/reach-fixture.ts';

const checked = await peerTest('promtool');
const fleet = sharedFleet(test, {
  agents: 2,
  env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true', EXECUTION_RETENTION_DAYS: '1' },
});

/** An id of nothing. */
const NOBODY = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01';

const RAW = '/api/v1/admins/me/metrics/raw';

function ask(path: string, key: string | null = FLEET_KEYS.METRICS_KEY, method = 'GET'): Promise<Response> {
  return fetch(fleet().admin().url + path, {
    method,
    headers: key === null ? {} : { authorization: `Bearer ${key}` },
  });
}

/** Everything that was scraped, in order. */
const history: Readonly<Record<string, number>>[] = [];

async function scraped(): Promise<Readonly<Record<string, number>>> {
  const series = seriesOf(await (await ask(RAW)).text());
  history.push(series);
  return series;
}

/** What happens raises these samples by exactly these numbers. */
async function raises(
  t: ExecutionContext,
  risen: Readonly<Record<string, number>>,
  happens: () => Promise<unknown>,
): Promise<void> {
  const before = await scraped();
  await happens();
  const risenBy = async () => {
    const after = await scraped();
    return Object.fromEntries(Object.keys(risen).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]));
  };
  await until('everything to be counted', async () => {
    const now = await risenBy();
    if (Object.entries(risen).every(([name, by]) => (now[name] ?? 0) >= by)) return true;
    throw new Error(JSON.stringify(now));
  });
  t.deepEqual(await risenBy(), risen);
}

const requests = (surface: string, operation: string, code: string): string =>
  `edge_admin_request_duration_seconds_count{surface="${surface}",operation="${operation}",code="${code}"}`;

test.serial('a command on two nodes is four frames each, two completed executions, and one request', async (t) => {
  await raises(
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
    async () => fleet().settled(await fleet().run('sleep 0.3; true')),
  );

  const now = await scraped();
  t.true((now['edge_admin_commit_duration_seconds_count'] ?? 0) > 0);
  t.is(now['edge_admin_commit_duration_seconds_count'], now['edge_admin_commit_changes_count']);
  t.true((now['edge_admin_commit_changes_sum'] ?? 0) >= (now['edge_admin_commit_changes_count'] ?? 0));
});

test.serial(
  'open executions are told by status, and those that are cancelled, expire or lose their node are counted',
  async (t) => {
    const away = await enrollRaw(t, fleet());
    const targeting = { type: 'nodes', node_ids: [away.node_id] };
    const open = { 'edge_admin_executions{status="pending"}': 1 };
    await raises(t, open, () => fleet().run('true', { targeting }));
    const { id } = await fleet().run('true', { targeting });

    await raises(t, { 'edge_admin_executions_finished_total{status="cancelled"}': 1 }, () =>
      fleet().rest.post(`/commands/${id}/cancel`),
    );
    await raises(t, { 'edge_admin_executions_finished_total{status="expired"}': 1 }, () =>
      fleet().run('true', { targeting, expired_at: new Date(Date.now() + 100).toISOString() }),
    );
    await raises(
      t,
      {
        'edge_admin_executions_finished_total{status="dropped"}': 1,
        'edge_admin_executions{status="pending"}': -1,
        'edge_admin_actors{kind="node"}': -1,
      },
      () => fleet().rest.call('DELETE', `/nodes/${away.node_id}`),
    );
  },
);

test.serial('sessions and their frames: one that talks nonsense is one that was cut', async (t) => {
  const raw = await enrollRaw(t, fleet());

  await raises(
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
  await raises(
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
  const raw = await enrollRaw(t, fleet());
  const password = 'a-password-of-the-tests';
  await fleet().rest.post(`/nodes/${raw.node_id}/ssh_usernames`, { username: 'somebody', password });
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

  await raises(
    t,
    {
      'edge_admin_ssh_logins_total{outcome="refused"}': 1,
      'edge_admin_ssh_logins_total{outcome="accepted"}': 0,
      'edge_admin_frames_total{direction="out",type="ssh-verdict"}': 1,
    },
    () => tries(1, 'another-password-1'),
  );
  await raises(
    t,
    { 'edge_admin_ssh_logins_total{outcome="refused"}': 0, 'edge_admin_ssh_logins_total{outcome="accepted"}': 1 },
    () => tries(2, password),
  );
});

test.serial('a connection through a proxy is counted there, on its way, in its bytes and at its end', async (t) => {
  const { httpProxyPort, socks5ProxyPort } = fleet().admin();
  const { vpn_hostname: name } = await fleet().node();
  const port = (await openReceiver(t)).endpoint().url.split(':')[2]?.split('/')[0] ?? '';

  await raises(
    t,
    {
      'edge_admin_proxy_connections_total{proxy="http"}': 1,
      'edge_admin_proxy_connections_total{proxy="socks5"}': 0,
      'edge_admin_reach_total{mode="forward",outcome="connected"}': 1,
      'edge_admin_tunnels_opened_total{path="url"}': 1,
      'edge_admin_tunnels_opened_total{path="mesh"}': 0,
      edge_admin_tunnels: 1,
      'edge_admin_proxy_tunnels_closed_total{reason="normal"}': 1,
      edge_admin_proxy_tunnels: 0,
      'edge_admin_proxy_bytes_total{direction="up"}': 60,
      'edge_admin_frames_total{direction="out",type="open-tunnel"}': 1,
    },
    async () => {
      const { stream } = await connectThrough(httpProxyPort, `${name}:${port}`);
      stream?.end(
        `GET /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: ${'y'.repeat(3)}\r\n\r\n`
          .padEnd(60, '\n')
          .slice(0, 60),
      );
      stream?.resume();
      if (stream !== null && !stream.closed) await once(stream, 'close');
    },
  );
  await raises(
    t,
    {
      'edge_admin_proxy_blocked_total{proxy="http",reason="credentials"}': 1,
      'edge_admin_reach_total{mode="forward",outcome="connected"}': 0,
    },
    () => connectThrough(httpProxyPort, `${name}:${port}`, '_:wrong-password-1234'),
  );
  await raises(
    t,
    {
      'edge_admin_reach_total{mode="forward",outcome="unknown_node"}': 1,
      'edge_admin_tunnels_opened_total{path="url"}': 0,
    },
    () => connectThrough(httpProxyPort, `nobody.${CLUSTER}.edge.internal:80`),
  );
  await raises(
    t,
    {
      'edge_admin_proxy_connections_total{proxy="socks5"}': 1,
      'edge_admin_proxy_blocked_total{proxy="socks5",reason="malformed"}': 1,
    },
    async () => {
      const socket = connect(socks5ProxyPort, '127.0.0.1')
        .on('error', () => {})
        .resume();
      socket.write('no socks');
      await once(socket, 'close');
    },
  );
});

test.serial('tries of webhooks are counted by what they came to', async (t) => {
  const receiver = await openReceiver(t);
  const endpoint = receiver.endpoint();
  const { id } = await fleet().rest.post<{ id: string }>('/webhooks', {
    url: endpoint.url,
    secret: 'a-secret-of-at-least-32-characters',
    subscribed_events: ['edge.core.test'],
  });
  t.teardown(async () => {
    await fleet().rest.call('DELETE', `/webhooks/${id}`);
  });
  const tried = (outcome: string): string => `edge_admin_webhook_deliveries_total{outcome="${outcome}"}`;

  await raises(t, { [tried('2xx')]: 1, [tried('4xx')]: 0, edge_admin_webhook_deliveries_pending: 0 }, () =>
    fleet().rest.post('/events/test'),
  );
  endpoint.manner = answers(410);
  await raises(t, { [tried('2xx')]: 0, [tried('4xx')]: 1 }, () => fleet().rest.post('/events/test'));
  const held = endpoint.hold();
  await raises(t, { edge_admin_webhook_deliveries_pending: 1 }, async () => {
    await fleet().rest.post('/events/test');
    await held.caught;
  });
  held.release();
});

test.serial('reads of the metrics of nodes are counted by source and by what they came to', async (t) => {
  const { node } = fleet().agent();

  await raises(
    t,
    {
      'edge_admin_scrapes_total{source="host",outcome="ok"}': 1,
      'edge_admin_scrape_duration_seconds_count{source="host"}': 1,
      'edge_admin_scrapes_total{source="agent",outcome="ok"}': 0,
    },
    () => ask(`/api/v1/nodes/${node}/metrics/host/raw`),
  );
  await raises(
    t,
    {
      'edge_admin_scrapes_total{source="agent",outcome="unknown_node"}': 1,
      'edge_admin_scrapes_total{source="host",outcome="ok"}': 0,
    },
    () => ask(`/api/v1/nodes/${NOBODY}/metrics/agent/raw`),
  );
});

test.serial('a message to nobody is a dead letter', async (t) => {
  await raises(t, { edge_admin_dead_letters_total: 1, [requests('rest', 'create_node_recovery_key', '4xx')]: 1 }, () =>
    fleet().rest.call('POST', `/nodes/${NOBODY}/recovery_key`),
  );
});

test.serial('calls are timed under the name of their operation, on every surface', async (t) => {
  const { url } = fleet().admin();
  const trpc = httpClient(url, FLEET_KEYS.API_KEY);

  await raises(
    t,
    { [requests('trpc', 'list_nodes', '2xx')]: 1, [requests('trpc', 'get_node', '4xx')]: 1 },
    async () => {
      await trpc.list_nodes.query({});
      await t.throwsAsync(trpc.get_node.query({ id: NOBODY }));
    },
  );
  await raises(
    t,
    { [requests('mcp', 'list_nodes', '2xx')]: 1, [requests('mcp', 'get_admin_metrics', '2xx')]: 1 },
    async () => {
      const client = await currentClient(t, url, FLEET_KEYS.MCP_KEY);
      await client.call('list_nodes');
      await client.call('get_admin_metrics');
    },
  );
  await raises(
    t,
    { [requests('rest', 'get_node', '4xx')]: 2, [requests('rest', 'get_admin_metrics', '2xx')]: 1 },
    async () => {
      await ask(`/api/v1/nodes/${NOBODY}`, FLEET_KEYS.API_KEY);
      await ask(`/api/v1/nodes/${NOBODY}`, null);
      await ask('/api/v1/admins/me/metrics');
    },
  );
});

test.serial('whatever strangers ask for, no name comes from them', async (t) => {
  const names = async () =>
    new Set(
      Object.keys(await scraped()).filter((name) => name.startsWith('edge_admin_request_duration_seconds_count')),
    );
  await Promise.all(
    ['/nowhere', '/api/v1/nodes/x'].flatMap((path) =>
      ['GET', 'POST', 'DELETE'].map((method) => ask(path, null, method)),
    ),
  );
  const before = await names();

  for (let round = 0; round < 20; round += 1) {
    await Promise.all(
      ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'].map((method) =>
        ask(`/x${Math.random()}/${'y'.repeat(round)}?z=${round}`, null, method),
      ),
    );
    await ask(`/api/v1/nodes/${Math.random()}`, `key-${round}-1234567890`);
  }

  const added = [...(await names())].filter((name) => !before.has(name));
  t.deepEqual(added, []);
  t.true(before.has(requests('other', 'unknown', '4xx')));
});

test.serial('METRICS_KEY opens the metrics, no key is 401, another key 403', async (t) => {
  const statuses = async (key: string | null) => [
    (await ask(RAW, key)).status,
    (await ask('/api/v1/admins/me/metrics', key)).status,
  ];

  t.deepEqual(await statuses(FLEET_KEYS.METRICS_KEY), [200, 200]);
  t.deepEqual(await statuses(FLEET_KEYS.MASTER_KEY), [200, 200]);
  for (const key of [FLEET_KEYS.API_KEY, FLEET_KEYS.MCP_KEY, FLEET_KEYS.PROXY_KEY])
    t.deepEqual(await statuses(key), [403, 403]);
  t.deepEqual(await statuses(null), [401, 401]);
  t.is((await ask(`${RAW}?x=1`)).status, 400);
});

test.serial('what does not exist here is absent and null, and what is known has numbers in both forms', async (t) => {
  const text = await scraped();
  const { data } = (await (await ask('/api/v1/admins/me/metrics')).json()) as { readonly data: AdminMetricsResource };

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
  t.true((data.ownership.lease_age_seconds ?? 9) < 3);
});

test.serial('over all of this no counter went down, and none went away', (t) => {
  const fell = history.slice(1).flatMap((series, index) =>
    Object.entries(history[index] ?? {})
      .filter(
        ([name, value]) =>
          /_(?:total|count|sum|bucket)(?:\{|$)/u.test(name) && !((series[name] ?? Number.NaN) >= value),
      )
      .map(([name]) => name),
  );

  t.deepEqual(fell, []);
  t.true(history.length > 30);
});

checked.serial('promtool finds nothing wrong with the metrics of an admin that did all this', async (t) => {
  t.is(await metricsProblems(await (await ask(RAW)).text()), '');
});
