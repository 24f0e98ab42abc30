/** A real Prometheus, given nothing but the key and where nodes are found, scrapes real agents through a real admin. */
import ava from 'ava';
import {
  AgentMetricsResource,
  HostMetricsResource,
  METRICS_SOURCES,
  NodeMetricsResource,
} from '../../../actors/resources/node-metrics.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { freeze } from '../../support/frozen.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { peerPath } from '../../support/run/peers.ts';
import { complaintsIn, configurationOf, startPrometheus } from '../../support/observability/prometheus.ts';
import { metricsProblems } from '../../support/observability/promtool.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { scaled } from '../../support/busy.ts';

const test = await peerTest('prometheus', 'promtool');
/** What promtool does not like about names that node_exporter gave long ago. */
const NAMES_OF_NODE_EXPORTER =
  /^node_\w+ (?:metric names should be written in 'snake_case'|use base unit "bytes" instead of "bits")/u;

/**
 * As long as this machine takes for an agent that runs. One that stands still is asked three times while it has a
 * session.
 */
const SCRAPE_MS_MAX = Math.min(scaled(1_500), 4_000);

/** A scrape has as long before Prometheus gives it up, in s. */
const SCRAPE_EVERY_S = Math.ceil(scaled(1_000) / 1_000);

const fleet = sharedFleet(ava, { agents: 2, env: { METRICS_SCRAPE_TIMEOUT_MS: String(SCRAPE_MS_MAX) } });
const byKey = { headers: { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` } };
const raw = (node: string, source: string) =>
  fetch(`${fleet().admin().url}/api/v1/nodes/${node}/metrics/${source}/raw`, byKey);
/** The same of one that runs: a scrape has little time, and on a busy machine it is asked again, as Prometheus does. */
const answered = (node: string, source: string) =>
  until(`the metrics of ${source}`, async () => {
    const answer = await raw(node, source);
    if (answer.status === 503) throw new Error(await answer.text());
    return answer;
  });
const metricsApi = () => restClient(() => fleet().admin().url, FLEET_KEYS.METRICS_KEY);

test.serial(
  'all targets are up, each under its node, cluster and job, and their metrics can be asked for',
  async (t) => {
    const nodes = fleet().agents.map(({ node }) => node);
    const prometheus = await startPrometheus(
      t,
      await peerPath('prometheus'),
      configurationOf(fleet().admin().url, FLEET_KEYS.METRICS_KEY, { everySeconds: SCRAPE_EVERY_S }),
    );

    const targets = await until('all targets up', async () => {
      const seen = await prometheus.targets();
      if (seen.length === 3 * nodes.length && seen.every(({ health }) => health === 'up')) return seen;
      throw new Error(
        `${JSON.stringify(seen.map(({ scrapeUrl, health, lastError }) => [scrapeUrl, health, lastError]))}; it says: ${prometheus.program.output.slice(-1_000)}`,
      );
    });

    const machine = (await fleet().node()).facts;
    const address = new URL(fleet().admin().url).host;
    const wanted = METRICS_SOURCES.flatMap((source) =>
      nodes.map((node) => ({
        labels: {
          instance: address,
          job: `edge-${source}`,
          node_id: node,
          cluster: CLUSTER,
          status: 'healthy',
          version: targets[0]?.labels['version'],
          name: machine?.hostname,
          hostname: machine?.hostname,
          os: machine?.os,
          arch: machine?.arch,
        },
        scrapeUrl: `${fleet().admin().url}/api/v1/nodes/${node}/metrics/${source}/raw`,
      })),
    );
    const order = (left: { readonly scrapeUrl: string }, right: { readonly scrapeUrl: string }): number =>
      left.scrapeUrl < right.scrapeUrl ? -1 : 1;
    t.deepEqual(
      targets.map(({ labels, scrapeUrl }) => ({ labels, scrapeUrl })).toSorted(order) as unknown,
      wanted.toSorted(order),
    );
    for (const metric of ['node_load1', 'node_memory_MemTotal_bytes', 'edge_agent_info', 'up{job="edge-wireguard"}']) {
      const series = await prometheus.query(metric);
      t.deepEqual(
        [...new Set(series.map(({ labels }) => labels['node_id'] ?? ''))].toSorted(),
        nodes.toSorted(),
        metric,
      );
    }
    t.deepEqual(complaintsIn(prometheus.program.output), []);
  },
);

test.serial('promtool finds nothing wrong with what comes of any source', async (t) => {
  for (const source of METRICS_SOURCES) {
    const answer = await answered(fleet().agent().node, source);

    t.is(answer.status, 200, source);
    const problems = (await metricsProblems(await answer.text()))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('exit status 3') && !NAMES_OF_NODE_EXPORTER.test(line));
    t.deepEqual(problems, [], source);
  }
});

test.serial('a machine and an agent as records, with nothing null that they know', async (t) => {
  const { node } = fleet().agent();

  const host = await metricsApi().get<HostMetricsResource>(`/nodes/${node}/metrics/host`);
  const agent = await metricsApi().get<AgentMetricsResource>(`/nodes/${node}/metrics/agent`);
  const both = await metricsApi().get<NodeMetricsResource>(`/nodes/${node}/metrics`);

  t.deepEqual(
    [HostMetricsResource.parse(host), AgentMetricsResource.parse(agent), NodeMetricsResource.parse(both)],
    [host, agent, both],
  );
  t.deepEqual(
    [host.node_id, host.cluster_name, both.host.available, both.agent.available],
    [node, CLUSTER, true, true],
  );
  t.deepEqual(nullsIn(host), []);
  t.deepEqual(nullsIn(agent), ['health_check.reports_total', 'vpn.pulls_total']);
  const { total_bytes: total, available_bytes: available, usage_percent: percent } = host.memory;
  t.true(Math.abs((((total ?? 0) - (available ?? 0)) / (total ?? 1)) * 100 - (percent ?? 0)) <= 0.01);
});

test.serial(
  'scrapes of a frozen node are a 503 in time, its unified record is unavailable, and other nodes answer',
  async (t) => {
    const [still, other] = fleet().agents;
    await freeze(still?.program as NonNullable<typeof still>['program']);
    t.teardown(() => still?.program.resume());

    // all at once: one that stands still for long has no session any more
    const askStill = async (source: string) => {
      const beganMs = performance.now();
      const answer = await raw(still?.node ?? '', source);
      const { error } = (await answer.json()) as {
        readonly error: { readonly code: string; readonly message: string };
      };
      return { source, status: answer.status, error, ms: performance.now() - beganMs };
    };
    const seen = await Promise.all(METRICS_SOURCES.map(askStill));
    for (const { source, status, error, ms } of seen) {
      t.deepEqual(
        [status, error.code, error.message],
        [503, 'service_unavailable', `The node did not answer within ${SCRAPE_MS_MAX} ms.`],
        source,
      );
      t.true(ms < scaled(SCRAPE_MS_MAX + 1_000), `${ms} ms`);
    }
    for (const source of METRICS_SOURCES) t.is((await answered(other?.node ?? '', source)).status, 200);
    const unified = await metricsApi().get<NodeMetricsResource>(`/nodes/${still?.node}/metrics`);
    t.deepEqual(
      [unified.host, unified.agent],
      [
        { available: false, cpu: null, memory: null, disk: null, uptime: null },
        {
          available: false,
          application: null,
          commands: null,
          discovery: null,
          health_check: null,
          oban_queues: null,
          proxy: null,
          ssh: null,
          vpn: null,
        },
      ],
    );
    for (const source of ['host', 'agent'])
      t.is((await metricsApi().call('GET', `/nodes/${still?.node}/metrics/${source}`)).status, 503);
  },
);

test.serial('a node that is away, and one that never was, are told apart', async (t) => {
  const [, away] = fleet().agents;
  await away?.kill();

  await until('the 503', async () => {
    const answer = await raw(away?.node ?? '', 'host');
    return answer.status === 503 && /not connected|not answer/u.test(await answer.text());
  });
  t.is((await raw('0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01', 'host')).status, 404);
});

/** Paths of what is null. */
function nullsIn(record: object, before = ''): string[] {
  return Object.entries(record).flatMap(([name, value]: [string, unknown]) =>
    value === null ? [before + name] : typeof value === 'object' ? nullsIn(value ?? {}, `${before}${name}.`) : [],
  );
}
