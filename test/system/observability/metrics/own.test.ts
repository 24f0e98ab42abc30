/** What the agent tells of itself, moved by what it really does. */
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { startReach } from '../../../../agent/access/reach.ts';
import { ownMetrics } from '../../../../agent/observability/metrics/agent.ts';
import type { OwnMetricsSources } from '../../../../agent/observability/metrics/agent.ts';
import { createSessionCounters } from '../../../../agent/session/session-counters.ts';
import { openDataDirectory } from '../../../../agent/data-directory.ts';
import { CountedEgress } from '../../../../agent/access/egress/dialler.ts';
import { agentApiKey, AGENT_METRICS_PATH } from '../../../../transport/protocol/agent-api.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { metricsProblems } from '../../../support/observability/promtool.ts';
import { documentedMetrics, familiesOf, seriesOf } from '../../../support/observability/series.ts';
import { until } from '../../../support/until.ts';
import { OwnServers } from '../../../../agent/own-servers.ts';
import { DIRECT } from '../../../../agent/outbound/outbound.ts';
import { agentConfig } from '../../../support/agent/agent-config.ts';
import { AdminDouble } from '../../../support/agent/admin-double.ts';
import { AgentProcess } from '../../../support/agent/agent-process.ts';
import { Fixture } from '../../../support/agent/executor-fixture.ts';
import { silentLog } from '../../../support/log.ts';
import { httpStatus, socks5Reply, startFixture } from '../../../support/agent/proxies-fixture.ts';
import { delivery, executionId, sessionFixture } from '../../../support/agent/session-fixture.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const test = await peerTest('promtool');

/** Nothing has happened, and everything that can be off is off. */
const QUIET: OwnMetricsSources = {
  version: '1.2.3',
  idType: 'persistent',
  shims: () => 0,
  adminUrls: () => 1,
  tunnelStreams: () => 0,
  session: createSessionCounters,
  services: () => [],
  proxies: null,
  ssh: null,
  updates: () => ({ asked: 0, accepted: 0, refused: 0, lastOutcome: null }),
  journal: () => ({ waiting: 0, started: 0, unconfirmed: 0, received: 0, completed: 0, cancelled: 0, dropped: 0 }),
  egress: () =>
    new CountedEgress({ rules: { blockedPorts: [], blockedHosts: [], allowedHosts: [], servedPorts: [] } }).counts(),
};

async function series(sources: Partial<OwnMetricsSources>): Promise<Record<string, number>> {
  return seriesOf(await ownMetrics({ ...QUIET, ...sources }));
}

function queue(all: Record<string, number>): Record<string, number | undefined> {
  return Object.fromEntries(
    ['available', 'executing', 'completed', 'discarded', 'retryable'].map((state) => [
      state,
      all[`edge_agent_queue_executions{queue="commands",state="${state}"}`],
    ]),
  );
}

function ofFixture({ journal, executor }: Fixture): Partial<OwnMetricsSources> {
  return { journal: () => journal.counts(), shims: () => executor.shims };
}

test('executions are counted when they come, run, end, are cancelled, given up and confirmed', async (t) => {
  const fixture = new Fixture(t, { concurrency: 1 });

  const long = fixture.start('sleep 60');
  const waiting = fixture.start('true');
  const given = fixture.start('true');
  t.deepEqual(queue(await series(ofFixture(fixture))), {
    available: 2,
    executing: 1,
    completed: 0,
    discarded: 0,
    retryable: 0,
  });
  t.is((await series(ofFixture(fixture)))['edge_agent_processes'], 2, 'the agent and one exec shim');

  fixture.executor.settle([given]);
  fixture.executor.cancel([long]);
  await Promise.all([fixture.result(long), fixture.result(waiting)]);
  const ended = await series(ofFixture(fixture));
  t.deepEqual(queue(ended), { available: 0, executing: 0, completed: 1, discarded: 2, retryable: 2 });
  t.is(ended['edge_agent_executions_enqueued_total'], 3);
  t.is(ended['edge_agent_executions_completed_total'], 2);

  fixture.journal.forget([long, waiting]);
  t.is(queue(await series(ofFixture(fixture)))['retryable'], 0);
});

test('results are counted when they are sent, again when they are sent again, and when they are confirmed', async (t) => {
  const { journal, link, clock, counters, session } = sessionFixture();
  link().welcome();
  journal.receive([delivery(1)]);
  journal.finish(executionId(1), 'out');
  session.finished([executionId(1)]);

  link().hangUp(1006);
  clock.pass(1_000);
  link().welcome();
  link().hear({ type: 'confirm', executions: [executionId(1)] });

  const all = await series({ session: () => counters });
  t.deepEqual(
    [
      'executions_reported_total',
      'executions_synced_total',
      'admin_scans_total',
      'reconnects_total',
      'admins_found',
    ].map((name) => all[`edge_agent_${name}`]),
    [2, 1, 2, 1, 1],
  );
});

test('the proxies count who came, who was turned away and why, what went through, and how it ended', async (t) => {
  const fixture = await startFixture(t, { PROXY_CUSTOM_ALLOWED_HOSTS: '127.0.0.1' });
  const target = `127.0.0.1:${fixture.socks5Port}`; // the proxies refuse to lead back to themselves

  await httpStatus({ host: '127.0.0.1', port: fixture.httpPort, password: 'wrong' }, `CONNECT ${target} HTTP/1.1`);
  await httpStatus({ host: '127.0.0.1', port: fixture.httpPort }, `CONNECT ${target} HTTP/1.1`);
  await socks5Reply({ host: '127.0.0.1', port: fixture.socks5Port }, { address: '169.254.169.254' }, 80);

  const all = await series({ proxies: () => fixture.proxies.servers, egress: () => fixture.egress.counts() });
  t.is(all['edge_agent_proxy_connections_total{proxy="http"}'], 2);
  t.is(all['edge_agent_proxy_connections_total{proxy="socks5"}'], 1);
  t.is(all['edge_agent_proxy_blocked_total{proxy="http",reason="credentials"}'], 1);
  t.is(all['edge_agent_proxy_blocked_total{proxy="http",reason="loop"}'], 1);
  t.is(all['edge_agent_proxy_blocked_total{proxy="socks5",reason="blocked"}'], 1);
  t.is(all['edge_agent_exit_failures_total{reason="blocked"}'], 1);
  t.is(all['edge_agent_proxy_tunnels_closed_total{reason="drain_timeout"}'], 0);
});

test('what is off is absent, and never zero', async (t) => {
  const directory = openDataDirectory(join(temporaryDirectory(t), 'data'));
  const clock = { nowMs: () => performance.now(), after: () => () => {} };
  const reach = await startReach({
    config: agentConfig({ AGENT_PROXY_ENABLED: 'false', AGENT_SSH_ENABLED: 'false' }),
    picked: new Set(),
    own: new OwnServers(),
    outbound: DIRECT,
    directory,
    token: 'a',
    proxyPassword: 'b',
    askAdmin: () => false,
    clock,
    log: silentLog,
    recording: () => ({ mode: 'off', bytes_max: 1, ms_max: 1 }),
  });

  const text = await ownMetrics({ ...QUIET, ...reach.counts });

  await reach.close();
  directory.release();
  t.notRegex(text, /proxy|ssh/u);
  t.regex(text, /^edge_agent_exit_failures_total\{reason="refused"\} 0$/mu);
  t.is(await metricsProblems(text), '');
});

test('a broken service is down', async (t) => {
  const all = await series({
    services: () => [
      { name: 'disk', problem: () => 'full' },
      { name: 'journal', problem: () => null },
    ],
  });

  t.is(all['edge_agent_service_up{service="disk"}'], 0);
  t.is(all['edge_agent_service_up{service="journal"}'], 1);
});

test('a real agent serves all of it to whoever has its key, and Prometheus finds no fault with it', async (t) => {
  const { agent, ports, admin, session } = await realAgent(t);
  const done = admin.deliver(session, 'echo done');
  await admin.result(done);
  const ssh = connect(ports.ssh_port, '127.0.0.1');
  await once(ssh, 'data'); // its version
  ssh.destroy();
  const text = await until('the result to be confirmed', async () => {
    const got = await metricsOf(ports.http_port);
    return /^edge_agent_executions_synced_total 1$/mu.test(got) && got;
  });
  const all = seriesOf(text);

  t.is(await metricsProblems(text), '');
  t.regex(text, /^edge_agent_info\{version="[^"]+",id_type="persistent"\} 1$/mu);
  t.like(queue(all), { available: 0, executing: 0, completed: 1, discarded: 0, retryable: 0 });
  t.is(all['edge_agent_ssh_connections_total'], 1);
  t.is(all['edge_agent_ssh_authentications_total'], 0);
  t.is(all['edge_agent_reconnects_total'], 0);
  t.deepEqual(
    Object.entries(all).filter(([name, value]) => name.startsWith('edge_agent_service_up') && value !== 1),
    [],
    agent.log,
  );
  t.deepEqual(
    [...text.matchAll(/edge_agent_service_up\{service="([^"]+)"/gu)].map((match) => match[1]),
    [
      'identity',
      'journal',
      'runner',
      'disk',
      'http_proxy',
      'socks5_proxy',
      'ssh',
      'api',
      'host_metrics',
      'wireguard_metrics',
    ],
  );
  for (const kind of ['resident', 'heap', 'external', 'array_buffers'])
    t.true((all[`edge_agent_memory_bytes{kind="${kind}"}`] ?? -1) > 0, kind);
  t.true((all['edge_agent_memory_bytes{kind="resident"}'] ?? 0) > (all['edge_agent_memory_bytes{kind="heap"}'] ?? 0));
  t.true(
    Math.abs((all['process_start_time_seconds'] ?? 0) + (all['edge_agent_uptime_seconds'] ?? 0) - Date.now() / 1_000) <
      60,
  );
  t.true((all['process_open_fds'] ?? 0) > 10);
  t.true((all['process_cpu_seconds_total'] ?? 0) > 0.01);
  t.true((all['edge_agent_event_loop_lag_seconds'] ?? 99) < 60);

  t.deepEqual(documentedMetrics('Agent'), familiesOf(text));

  const metricsKey = AgentProcess.start(t, agent.environment, ['metrics-key']);
  let key = '';
  metricsKey.child.stdout?.on('data', (piece: Buffer) => {
    key += piece.toString();
  });
  t.deepEqual(await metricsKey.ended(), { code: 0, signal: null }, metricsKey.log);
  t.is(key, `${KEY}\n`);
});

test('a machine that is not enrolled has no key, and is told so in one line', async (t) => {
  const directory = temporaryDirectory(t);

  const metricsKey = AgentProcess.start(t, { AGENT_DATA_DIR: join(directory, 'data') }, ['metrics-key']);

  t.deepEqual(await metricsKey.ended(), { code: 1, signal: null });
  t.regex(metricsKey.log, /^edge-agent: .*is not enrolled.*\n$/u);
});

/** The key of the agent's API: the double gives every node the same token. */
const KEY = agentApiKey(createHash('sha256').update('token-of-the-node').digest());

async function metricsOf(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}${AGENT_METRICS_PATH}`, {
    headers: { authorization: `Bearer ${KEY}` },
  });
  return answer.text();
}

async function realAgent(t: ExecutionContext) {
  const admin = await AdminDouble.start();
  t.teardown(() => admin.close());
  const environment = { ENROLLMENT_KEY: admin.key(), AGENT_DATA_DIR: join(temporaryDirectory(t), 'data') };
  const agent = Object.assign(AgentProcess.start(t, environment), { environment });
  const session = await admin.session();
  const ports = session.of('hello')[0]?.registration.ports;
  if (ports === undefined) throw new Error('no hello');
  return { agent, ports, admin, session };
}
