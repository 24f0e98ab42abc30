/**
 * Diagnoses of nodes whose agents are stuck, old or hostile, through real tunnels: clear answers in time. And nodes
 * whose session is at another admin.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import type { NodeDiagnosisResource } from '../../../actors/resources/node-diagnosis.ts';
import { AgentTunnels } from '../../../agent/access/tunnel/tunnels.ts';
import { Joins } from '../../../transport/net/streams/join.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';
import { scaled } from '../../support/busy.ts';
import { startFleet, FLEET_KEYS } from '../../support/fleet.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { freeze } from '../../support/frozen.ts';
import { silentLog } from '../../support/log.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { origin, pour, target } from '../../support/net/listening.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const fleet = sharedFleet(test, { agents: 1 });

const MS_MAX = 15_000;

const REPORT = {
  overall: 'pass',
  collected_at: '2026-01-01T00:00:00.000Z',
  checks: [{ name: 'dns', status: 'pass', summary: 'Well.', hint: null, details: null, duration_ms: 1 }],
};

/** A diagnosis of a node whose agent leads to this server, whatever of it is asked for. */
async function diagnosedWith(
  t: Scope,
  start: (t: Scope) => Promise<string | number>,
): Promise<{ readonly report: NodeDiagnosisResource; readonly ms: number }> {
  const place = await start(t);
  const port = typeof place === 'number' ? place : Number(new URL(place).port);
  const agent = await enrollRaw(t, fleet());
  const session = await agent.connect({ protocol: PROTOCOL_VERSION });
  const joins = new Joins();
  const tunnels = new AgentTunnels({
    egress: {
      async dial() {
        const stream = connect(port, '127.0.0.1');
        await once(stream, 'connect');
        return { ok: true, stream };
      },
    },
    join: (one, other) => joins.join(one, other),
    log: silentLog,
  });
  t.teardown(() => tunnels.close());
  void session.frame('open-tunnel').then(({ token }) => tunnels.open([fleet().admin().url], token));
  const startedMs = performance.now();
  const report = await fleet().rest.get<NodeDiagnosisResource>(`/nodes/${agent.node_id}/diagnostics`);
  return { report, ms: performance.now() - startedMs };
}

const HOSTILE: Readonly<Record<string, (t: Scope) => Promise<string | number>>> = {
  'of an older version': (t) =>
    origin(t, (_request, response) => response.writeHead(404).end('There is nothing here.')),
  'that says no JSON': (t) => origin(t, (_request, response) => response.end('<html>')),
  'that says endless things': (t) => origin(t, (_request, response) => pour(response, 'x'.repeat(65_536))),
  'that claims the checks of the admin': (t) =>
    origin(t, (_request, response) =>
      response.end(JSON.stringify({ ...REPORT, checks: [{ ...REPORT.checks[0], name: 'node_session' }] })),
    ),
  'that sends an admin elsewhere': (t) =>
    origin(t, (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()),
  'that speaks no HTTP': (t) => target(t, (socket) => socket.resume().end('SSH-2.0-OpenSSH\r\n')),
  'that answers by the byte and never ends': (t) =>
    origin(t, (_request, response) => {
      const timer = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(timer));
    }),
};

for (const [what, server] of Object.entries(HOSTILE)) {
  test.serial(`an agent ${what} is a check that fails, in time`, async (t) => {
    const { report, ms } = await diagnosedWith(t, server);

    const statuses = Object.fromEntries(report.checks.map(({ name, status }) => [name, status]));
    t.deepEqual(
      [report.overall, report.is_live, statuses['node_session'], statuses['node_tunnel'], statuses['agent_report']],
      ['fail', false, 'pass', 'pass', 'fail'],
      JSON.stringify(report),
    );
    t.true(ms < scaled(MS_MAX), `${ms} ms`);
  });
}

test.serial('a report with terminal sequences and addresses of the VPN comes without them', async (t) => {
  const [range] = await fleet().sql<{ address: string }>(
    'select host(set_masklen(ipv4_range, 32)) as address from cluster',
  );
  const evil = {
    ...REPORT,
    checks: [{ ...REPORT.checks[0], summary: `\u001B]0;owned\u0007 ${range?.address} \u202Eabc` }],
  };

  const { report } = await diagnosedWith(t, () =>
    origin(t, (_request, response) => response.end(JSON.stringify(evil))),
  );

  const text = JSON.stringify(report);
  t.true(report.is_live);
  t.notRegex(text, /\\u|\u202E/u);
  t.false(text.includes(range?.address ?? 'no range'));
});

test.serial(
  'an agent that is stopped, as by a debugger, gets its last report in time, and is whole again after',
  async (t) => {
    const agent = fleet().agent();
    const path = `/nodes/${agent.node}/diagnostics`;
    const live = await fleet().rest.get<NodeDiagnosisResource>(path);
    await freeze(agent.program);
    const startedMs = performance.now();
    const stuck = await fleet()
      .rest.get<NodeDiagnosisResource>(path)
      .finally(() => agent.program.resume());
    const ms = performance.now() - startedMs;
    await fleet().reaches(agent, 'healthy');
    await until('a live report', async () => (await fleet().rest.get<NodeDiagnosisResource>(path)).is_live);

    t.deepEqual([live.is_live, stuck.is_live], [true, false]);
    t.true(ms < scaled(MS_MAX), `${ms} ms`);
    t.is(stuck.collected_at, live.collected_at);
  },
);

test.serial('any admin diagnoses any node, and says at which admin its session is', async (t) => {
  const two = await startFleet(t, { admins: 2, agents: 1 });
  const agent = two.agent();

  const reports = await Promise.all(
    two.admins.map(({ url }) =>
      restClient(() => url, FLEET_KEYS.API_KEY).get<NodeDiagnosisResource>(`/nodes/${agent.node}/diagnostics`),
    ),
  );

  t.deepEqual(
    reports.map(({ is_live: isLive }) => isLive),
    [true, true],
  );
  t.deepEqual(
    reports
      .map(({ checks: [session] }) => [session?.status, session?.details?.['is_here']])
      .toSorted((a, b) => Number(a[1]) - Number(b[1])),
    [
      ['pass', false],
      ['pass', true],
    ],
  );
});
