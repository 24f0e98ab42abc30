/** Diagnoses of real agents, through a real admin, on every surface and on the machine itself. */
import test from 'ava';
import { NodeDiagnosisResource } from '../../../actors/resources/node-diagnosis.ts';
import { apiKeyOf } from '../../../agent/observability/api-key.ts';
import { startEdge, startNode, type Ended } from '../../support/edge-program.ts';
import type { AgentProgram } from '../../support/fleet/agent-program.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { programFile } from '../../support/run/programs.ts';
import { leaksIn } from '../../support/canary.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { scaled } from '../../support/busy.ts';
import { until } from '../../support/until.ts';

/** In their order: the network first. */
const NAMES = [
  'node_session',
  'node_last_seen',
  'node_tunnel',
  'node_round_trip',
  'agent_report',
  'interface',
  'dns',
  'admins',
  'encryption',
  'clock',
  'tun',
  'wireguard',
  'names',
  'relay_map',
  'session',
  'journal',
  'runner',
  'disk',
  'memory',
  'file_descriptors',
  'ssh',
  'proxies',
  'exporters',
  'updater',
  'system',
  'version',
];

const diagnosisOf = (fleet: Fleet) => fleet.rest.get<NodeDiagnosisResource>(`/nodes/${fleet.agent().node}/diagnostics`);

const statusOf = ({ checks }: NodeDiagnosisResource, name: string) =>
  checks.find((check) => check.name === name)?.status;

/** Runs the agent's own program to its end. */
const doctor = (agent: AgentProgram, ...words: readonly string[]): Promise<Ended> =>
  startNode([programFile('edge-agent'), 'doctor', ...words], { AGENT_DATA_DIR: agent.dataDirectory }).ended;

/** Runs `edge doctor` to its end. */
const edgeDoctor = (fleet: Fleet, ...words: readonly string[]): Promise<Ended> =>
  startEdge(['doctor', ...words], { EDGE_URL: fleet.admin().url, EDGE_API_KEY: FLEET_KEYS.API_KEY }).ended;

/**
 * What a report may differ in from one machine to the next: networks of its own, TUN, interfaces of other tests,
 * memory.
 */
const OF_THE_MACHINE = ['interface', 'tun', 'wireguard', 'memory', 'disk'];

/** The first report in which everything else passes: on a busy machine a word to it and back may take long. */
function healthyReport(fleet: Fleet): Promise<NodeDiagnosisResource> {
  return until('a report without a complaint', async () => {
    const report = await diagnosisOf(fleet);
    const bad = report.checks.filter(({ name, status }) => status !== 'pass' && !OF_THE_MACHINE.includes(name));
    if (bad.length > 0) throw new Error(JSON.stringify(bad));
    return report;
  });
}

test('a healthy node passes every check in order on every surface and keeps its status; a dead node keeps its report', async (t) => {
  const fleet = await startFleet(t, { agents: 1, env: { NODE_UNREACHABLE_AFTER_MS: '1000' } });
  const agent = fleet.agent();
  const admin = fleet.admin();
  const before = await fleet.node(agent);

  const live = await healthyReport(fleet);
  const trpc = await fetch(
    `${admin.url}/api/trpc/get_node_diagnostics?input=${encodeURIComponent(JSON.stringify({ id: agent.node }))}`,
    { headers: { authorization: `Bearer ${FLEET_KEYS.API_KEY}` } },
  );
  const mcp = await fetch(`${admin.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${FLEET_KEYS.MCP_KEY}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_node_diagnostics', arguments: { id: agent.node } },
    }),
  });
  const denied = await fetch(`${admin.url}/api/v1/nodes/${agent.node}/diagnostics`, {
    headers: { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` },
  });
  const after = await fleet.node(agent);

  t.deepEqual(
    live.checks.map(({ name }) => name),
    NAMES,
  );
  t.true(live.is_live && NodeDiagnosisResource.safeParse(live).success);
  t.deepEqual([trpc.status, mcp.status, denied.status], [200, 200, 403]);
  t.regex(await trpc.text(), /"node_session"/u);
  t.regex(await mcp.text(), /node_session/u);
  t.deepEqual({ ...after, last_seen_at: null }, { ...before, last_seen_at: null });

  const [local, json, usage] = [await doctor(agent), await doctor(agent, '--json'), await doctor(agent, '--yes')];
  const [edge, all] = [await edgeDoctor(fleet, agent.node), await edgeDoctor(fleet)];

  t.deepEqual(
    [local.status, json.status, usage.status, edge.status, all.status],
    [0, 0, 2, 0, 0],
    JSON.stringify([local, edge, all]),
  );
  t.regex(local.stdout, /^pass {2}session +The agent has had a session with http/mu);
  t.false(local.stdout.includes('\u001B'), 'no colours for programs');
  t.deepEqual(
    (JSON.parse(json.stdout) as NodeDiagnosisResource).checks.map(({ name }) => name),
    NAMES.slice(5, -1),
  );
  t.regex(edge.stdout, /^pass {2}node_tunnel /mu);

  const { enrollment } = agent;
  const secrets = [
    ...Object.entries(FLEET_KEYS),
    ['token', enrollment.api_token] as const,
    ['proxy password', enrollment.proxy_password] as const,
    ['key of the API', apiKeyOf(enrollment.api_token)] as const,
  ].map(([name, value]) => ({ name, value }));
  for (const [place, text] of Object.entries({
    live: JSON.stringify(live),
    local: local.stdout + local.stderr,
    json: json.stdout,
    edge: edge.stdout,
    all: all.stdout,
    stored: JSON.stringify(await fleet.sql('select checks from node_diagnosis')),
  }))
    t.deepEqual(leaksIn(place, text, secrets), []);

  await agent.kill();
  await fleet.reaches(agent, 'unreachable');
  const startedMs = performance.now();
  const away = await diagnosisOf(fleet);
  const tookMs = performance.now() - startedMs;
  const alone = await doctor(agent, '--json');
  const [edgeAway, allAway] = [await edgeDoctor(fleet, agent.node), await edgeDoctor(fleet)];

  t.deepEqual([away.overall, away.is_live], ['fail', false]);
  t.true(tookMs < scaled(15_000), `${tookMs} ms`);
  t.true(
    Date.parse(away.collected_at) >= Date.parse(live.collected_at) && Date.parse(away.collected_at) <= Date.now() - 1,
  );
  t.deepEqual(
    away.checks.map(({ name }) => name),
    NAMES.filter((name) => name !== 'node_round_trip'),
  );
  t.deepEqual(
    ['node_session', 'node_tunnel', 'agent_report', 'session', 'disk'].map((name) => statusOf(away, name)),
    ['fail', 'fail', 'fail', 'pass', 'pass'],
  );
  t.is(alone.status, 1);
  const aloneReport = JSON.parse(alone.stdout) as NodeDiagnosisResource;
  t.deepEqual(
    aloneReport.checks.filter(({ status }) => status === 'fail').map(({ name }) => name),
    ['agent'],
  );
  t.is(statusOf(aloneReport, 'admins'), 'pass');
  t.deepEqual([edgeAway.status, allAway.status], [1, 1]);
  t.regex(allAway.stdout, new RegExp(`unreachable +\\S+ \\(${agent.node}\\)`, 'u'));

  await settledAnswer(() => fleet.rest.call('DELETE', `/nodes/${agent.node}`));
  t.deepEqual(await fleet.sql('select 1 from node_diagnosis'), []);
});
