/**
 * A real Prometheus with the configuration of deploy/ scrapes a real fleet: every expression of the dashboards has
 * something to show, and names nothing that is not exported.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAMILIES } from '../../../api/metrics/families.ts';
import { DASHBOARDS } from '../../../deploy/dashboards.ts';
import { connectThrough } from '../../support/net/reach-fixture.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { peerPath } from '../../support/run/peers.ts';
import { complaintsIn, startPrometheus } from '../../support/observability/prometheus.ts';
import { ROOT } from '../../support/source/source-text.ts';
import { until } from '../../support/until.ts';
import { startWireguard, wireguardProblem } from '../../support/vpn/wireguard.ts';
import { expressionsOf, expressionsOfRules, metricsOf } from './expressions.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('prometheus', 'wireguard-go', 'wg', 'ip');

const RULES = globSync(join(ROOT, 'deploy/prometheus/*.rules.yml'));

/**
 * Expressions that may have nothing to show, with the reason. Whether they name the right metrics is seen all the same.
 */
const MAY_BE_EMPTY: readonly (readonly [RegExp, string])[] = [
  [/^ALERTS/u, 'nothing is wrong with the fleet'],
  [/code="5xx".*> 0$/u, 'no request fails'],
  [/edge_admin_broker_/u, 'no broker is configured'],
  [/edge_admin_(?:link_|forward_duration)/u, 'one admin alone has nobody to call'],
  ...(wireguardProblem === null
    ? []
    : [
        [
          /wireguard_(?:sent|received|latest|interface_up)/u,
          `there is no interface here: it ${wireguardProblem}`,
        ] as const,
      ]),
];

/** What Prometheus itself has of every target, and of alerts. */
const OF_PROMETHEUS = ['up', 'ALERTS'];

/** The configuration of deploy/, for this admin and in a hurry. */
function configuration(adminUrl: string, keyFile: string): string {
  return readFileSync(join(ROOT, 'deploy/prometheus/prometheus.yml'), 'utf8')
    .replaceAll('127.0.0.1:44000', new URL(adminUrl).host)
    .replaceAll('credentials_file: metrics-key', `credentials_file: ${keyFile}`)
    .replace("- '*.rules.yml'", RULES.map((path) => `- '${path}'`).join('\n  '))
    .replaceAll(/(?<what>_interval|_timeout): \d+s/gu, '$<what>: 1s');
}

test('every dashboard shows data of a working fleet, and no rule or panel names a metric that nothing exports', async (t) => {
  const directory = temporaryDirectory(t);
  const keyFile = join(directory, 'metrics-key');
  writeFileSync(keyFile, FLEET_KEYS.METRICS_KEY, { mode: 0o600 });
  const fleet = await startFleet(t, { agents: 2 });
  const admin = fleet.admin();
  if (wireguardProblem === null) {
    const {
      ends: [one],
    } = await startWireguard(t);
    await until('a handshake', async () => {
      await one.send(100);
      return Number((await one.dump())[1]?.[4]) > 0;
    });
  }
  const prometheus = await startPrometheus(t, await peerPath('prometheus'), configuration(admin.url, keyFile));
  const work = async (): Promise<void> => {
    await fleet.settled(await fleet.run('true'));
    for (const port of [admin.httpProxyPort, (await fleet.node()).http_proxy_port])
      await connectThrough(port, 'localhost:1', 'nobody:wrong'); // each turns somebody away
  };

  let waiting = DASHBOARDS.flatMap((dashboard) =>
    expressionsOf(dashboard, { rateInterval: '10s', values: { node: fleet.agent().node } }),
  );
  t.true(waiting.length > 100);
  const isExcused = (expression: string): boolean => MAY_BE_EMPTY.some(([pattern]) => pattern.test(expression));
  await until('something in every panel', async () => {
    await work();
    const answers = await Promise.all(
      waiting.map(async (each) => ({ ...each, isEmpty: (await prometheus.query(each.expression)).length === 0 })),
    );
    waiting = answers.filter(({ isEmpty }) => isEmpty);
    if (waiting.every(({ expression }) => isExcused(expression))) return true;
    throw new Error(
      `nothing in ${waiting.map(({ where, expression }) => `${where}: ${expression}`).join('\n')}; Prometheus says: ${prometheus.program.output.slice(-2_000)}`,
    );
  });

  const paths = [
    '/api/v1/admins/me/metrics/raw',
    ...['host', 'agent', 'wireguard'].map((source) => `/api/v1/nodes/${fleet.agent().node}/metrics/${source}/raw`),
  ];
  const texts = await Promise.all(
    paths.map((path) =>
      until(`what ${path} exports`, async () => {
        const headers = { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` };
        const answer = await fetch(admin.url + path, { headers });
        return answer.status === 503 ? null : answer.text(); // a busy machine is asked again
      }),
    ),
  );
  const exported = texts.flatMap((text) =>
    [...text.matchAll(/^# TYPE (?<name>\S+) (?<type>\S+)$/gmu)].map(
      ({ groups }) => [groups?.['name'] ?? '', groups?.['type'] ?? ''] as const,
    ),
  );
  const known = new Set(
    [...exported, ...FAMILIES.map(({ name, type }) => [name, type] as const)].flatMap(([name, type]) =>
      type === 'histogram' || type === 'summary' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
  const all = [...DASHBOARDS.flatMap((dashboard) => expressionsOf(dashboard)), ...RULES.flatMap(expressionsOfRules)];
  t.deepEqual(
    all.flatMap(({ where, expression }) =>
      metricsOf(expression)
        .filter((name) => !known.has(name) && !OF_PROMETHEUS.includes(name))
        .map((name) => `${where}: ${name}`),
    ),
    [],
  );
  t.true(all.every(({ expression }) => metricsOf(expression).length > 0));

  t.deepEqual(complaintsIn(prometheus.program.output), [], 'no rule fails, no target is refused');
  const targets = await prometheus.targets();
  t.deepEqual(
    targets
      .filter(({ labels }) => labels['job'] === 'edge-host')
      .map(({ labels }) => labels)
      .toSorted((left, right) => ((left['instance'] ?? '') < (right['instance'] ?? '') ? -1 : 1)),
    fleet.agents
      .map(({ node }) => ({ job: 'edge-host', cluster: 'fleet', node_id: node, instance: node }))
      .toSorted((left, right) => (left.instance < right.instance ? -1 : 1)),
  );
});
