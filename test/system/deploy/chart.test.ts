/**
 * The Helm chart: manifests that Kubernetes takes, of settings that the programs take, for the images that are made.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fastify from 'fastify';
import { ADMIN_METRICS_PATH } from '../../../api/rest/admin-metrics.ts';
import { registerHealth } from '../../../api/rest/health.ts';
import { readRelayConfig } from '../../../cli/relay.ts';
import { STOP_MS_MAX } from '../../../cli/resident-program.ts';
import { imagePlans } from '../../../deploy/images/contents.ts';
import packageFile from '../../../package.json' with { type: 'json' };
import { ADMIN_SETTINGS, readAdminConfig } from '../../../settings/admin.ts';
import { readSettings, settingNames } from '../../../settings/environment.ts';
import { RELAY_SETTINGS } from '../../../settings/relay.ts';
import { PROBES } from '../../../transport/vpn/relay/server.ts';
import { certificates } from '../../support/net/certificates.ts';
import {
  containerOf,
  lintChart,
  manifest,
  refusalOf,
  RELEASE,
  renderChart,
  type ChartValues,
  type Container,
} from '../../support/releases/helm-chart.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import type { Scope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { LEAST, MISSPELT, MOST, REFUSED } from './chart-values.ts';

const test = await peerTest('helm', 'kubernetes-validate');

/** Variables that are none of ours, and whose. */
const OF_NODE = ['NODE_EXTRA_CA_CERTS'];

const DEFAULTS = readSettings(ADMIN_SETTINGS, {});

test('Kubernetes takes what comes of little and of many values, and helm finds nothing wrong with them', async (t) => {
  const kinds = async (values: ChartValues): Promise<readonly string[]> => {
    const { documents, problems, known } = await renderChart(values);
    t.deepEqual(problems, []);
    t.is(known, documents.filter(({ kind }) => kind !== 'ServiceMonitor').length);
    t.is(await lintChart(values), '');
    return documents.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();
  };

  t.deepEqual(await kinds(LEAST), [
    'PodDisruptionBudget edge',
    'Service edge',
    'Service edge-peers',
    'Service edge-proxies',
    'ServiceAccount edge',
    'StatefulSet edge',
  ]);
  t.deepEqual(await kinds(MOST), [
    'Deployment edge-relay',
    'Ingress edge',
    'NetworkPolicy edge',
    'PodDisruptionBudget edge',
    'Secret edge-secrets',
    'Service edge',
    'Service edge-0',
    'Service edge-1',
    'Service edge-peers',
    'Service edge-proxies',
    'Service edge-relay',
    'ServiceAccount edge',
    'ServiceMonitor edge',
    'StatefulSet edge',
  ]);
  t.deepEqual(await kinds({ ...LEAST, replicas: 1, proxies: { enabled: false } }), [
    'Service edge',
    'Service edge-peers',
    'ServiceAccount edge',
    'StatefulSet edge',
  ]);
});

test('an admin takes the settings of its pod, and each of several is told apart', async (t) => {
  const least = await environmentIn(t, containerOf(manifest(await renderChart(LEAST), 'StatefulSet')), 2);
  const most = await environmentIn(t, containerOf(manifest(await renderChart(MOST), 'StatefulSet')), 0);
  const alone = containerOf(manifest(await renderChart({ ...LEAST, replicas: 1 }), 'StatefulSet'));
  const read = (env: Readonly<Record<string, string>>) => {
    const result = readAdminConfig(env, 'pod');
    if (!result.ok) throw new Error(result.problems.join('\n'));
    return result.config;
  };

  for (const env of [least, most])
    t.deepEqual(unknownIn(env, settingNames(ADMIN_SETTINGS)), [], 'each is a setting of the admin');
  const inner = 'edge-peers.fleet.svc.cluster.local:44000';
  t.like(read(least), {
    ADMIN_NAME: 'edge-2',
    ADMIN_URLS: ['https://edge.example.com'],
    ADMIN_OWN_URL: `https://edge-2.${inner}`,
    ADMIN_PEER_URL: `http://edge-2.${inner}`,
    METRICS_BASE_URL: 'http://edge.fleet.svc.cluster.local:44000',
    ADMIN_GATEWAY_ENABLED: false,
    ADMIN_OBSERVER_ENABLED: false,
  });
  t.like(read(most), {
    ADMIN_NAME: 'edge-0',
    ADMIN_URLS: ['https://edge.example.com', 'https://edge-0.admins.example.com', 'https://edge-1.admins.example.com'],
    ADMIN_OWN_URL: 'https://edge-0.admins.example.com',
    ADMIN_PEER_URL: `https://edge-0.${inner}`,
    TRUSTED_PROXIES: ['10.0.0.7', '10.1.0.0/28'],
    CORE_DERP_MAP_URLS: ['https://relay.example.com:8443/derp-map.json'],
    LOG_LEVEL: 'debug',
    RELEASES_BYTES_MAX: 1_099_511_627_776,
    API_DOCS_ENABLED: false,
  });
  t.false(
    alone.env.some(({ name }) => name === 'ADMIN_OWN_URL'),
    'one alone is what its URL says',
  );
});

test('a relay takes the settings of its pod, and asks the admins of the release', async (t) => {
  const container = containerOf(manifest(await renderChart(MOST), 'Deployment', 'edge-relay'));
  const env = await environmentIn(t, container, 0);
  const read = readRelayConfig(env);

  t.deepEqual(unknownIn(env, settingNames(RELAY_SETTINGS)), []);
  t.like(read.ok ? read.config : read.problems, {
    RELAY_HOSTNAME: 'relay.example.com',
    RELAY_PORT: 8443,
    RELAY_ADMISSION_URL: 'https://edge.fleet.svc.cluster.local:44000/api/v1/relays/admission',
  });
});

test('pods run the images that are made here, as their user, with what they keep where they may write', async (t) => {
  const rendered = await renderChart(MOST);
  const pods = [manifest(rendered, 'StatefulSet'), manifest(rendered, 'Deployment', 'edge-relay')];

  for (const [index, workload] of pods.entries()) {
    const container = containerOf(workload);
    const { spec } = workload.spec.template;
    const plan = imagePlans('').find(({ name }) => name === (index === 0 ? 'admin' : 'relay'));
    t.is(container.image, `registry.example.com/tools/edge-${plan?.name}:9.9.9`);
    t.is(`${spec.securityContext.runAsUser}:${spec.securityContext.runAsUser}`, plan?.config.user ?? '');
    t.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const mounts = container.volumeMounts.map(({ mountPath }) => mountPath);
    t.true(plan?.config.volumes.every((place) => mounts.includes(place)));
    t.deepEqual(
      container.volumeMounts.map(({ name }) => name).toSorted(),
      spec.volumes.map(({ name }) => name).toSorted(),
    );
    t.deepEqual(
      container.ports.map(({ containerPort }) => `${containerPort}/tcp`),
      plan?.config.ports,
    );
  }
  const [node = ''] = imagePlans('')[0]?.config.entrypoint ?? [];
  const admin = manifest(await renderChart(LEAST), 'StatefulSet');
  t.deepEqual(containerOf(admin).lifecycle?.preStop.exec.command, [node, '-e', 'setTimeout(() => {}, 5000)']);
  t.true((admin.spec.template.spec.terminationGracePeriodSeconds ?? 0) * 1_000 > 5_000 + STOP_MS_MAX);
  t.is(containerOf(admin).image, `registry.example.com/edge-admin:${packageFile.version}`);
});

test('ports are the defaults of the settings, services lead to pods, and probes ask routes that there are', async (t) => {
  const rendered = await renderChart(MOST);
  const admin = manifest(rendered, 'StatefulSet');
  const relay = manifest(rendered, 'Deployment', 'edge-relay');
  const settings = DEFAULTS.ok ? DEFAULTS.settings : null;
  const app = fastify();
  registerHealth(app, { checkHealth: async () => [], checkClusterHealth: async () => [] });

  t.deepEqual(
    containerOf(admin).ports.map(({ containerPort }) => containerPort),
    [settings?.ADMIN_API_PORT, settings?.ADMIN_HTTP_PROXY_PORT, settings?.ADMIN_SOCKS5_PROXY_PORT],
  );
  for (const service of rendered.documents.filter(({ kind }) => kind === 'Service')) {
    const pod = [admin, relay].find(({ spec }) =>
      Object.entries(service.spec.selector).every(
        ([label, value]) =>
          spec.template.metadata.labels[label] === value ||
          (label === 'statefulset.kubernetes.io/pod-name' && /^edge-[01]$/u.test(value)),
      ),
    );
    const ports = pod === undefined ? [] : containerOf(pod).ports;
    t.deepEqual(
      service.spec.ports.map(({ port, targetPort }) => ({ name: targetPort, containerPort: port })),
      ports.filter(({ name }) => service.spec.ports.some(({ targetPort }) => targetPort === name)),
      service.metadata.name,
    );
  }
  t.is(admin.spec.serviceName, 'edge-peers');
  const { startupProbe, livenessProbe, readinessProbe } = containerOf(admin);
  for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
    t.is((await app.inject(probe?.httpGet.path ?? '')).statusCode, 200);
    t.is(probe?.httpGet.scheme, 'HTTPS');
  }
  t.is((startupProbe?.periodSeconds ?? 0) * (startupProbe?.failureThreshold ?? 0), 600);
  for (const probe of [containerOf(relay).livenessProbe, containerOf(relay).readinessProbe])
    t.true(PROBES.has(probe.httpGet.path));
  const [scraped] = manifest(rendered, 'ServiceMonitor').spec.endpoints;
  t.is(scraped?.path, ADMIN_METRICS_PATH);
  t.deepEqual(scraped?.relabelings, [{ targetLabel: 'job', replacement: 'edge-admin' }]);
  t.deepEqual(
    manifest(rendered, 'Ingress').spec.rules.map(({ host }) => host),
    ['edge.example.com', 'edge-0.admins.example.com', 'edge-1.admins.example.com'],
  );
});

test('values that would not do are refused in one line that says what to do', async (t) => {
  for (const [values, line] of REFUSED) {
    const said = await refusalOf(values);
    t.regex(said, line);
    t.false(said.includes('\n'), said);
  }
});

test('values that are misspelt, of the wrong kind, or settings that there are not are named', async (t) => {
  for (const [values, words] of MISSPELT) {
    const said = await refusalOf(values);
    t.true(
      words.every((word) => said.includes(word)),
      said,
    );
  }
});

/** What a container of the pod of this number is given, with the files of its secrets here. */
async function environmentIn(
  scope: Scope,
  { env }: Container,
  number: number,
): Promise<Readonly<Record<string, string>>> {
  const directory = temporaryDirectory(scope);
  const files = {
    ...MOST.secrets.values,
    'tls.crt': (await certificates(directory)).server,
    'tls.key': join(directory, 'server-key.pem'),
  };
  const name = `${RELEASE.name}-${number}`;
  mkdirSync(join(directory, 'secrets'));
  for (const [secret, value] of Object.entries(MOST.secrets.values))
    writeFileSync(join(directory, 'secrets', secret), `${value}\n`);
  const here = (path: string): string => {
    const file = /^\/run\/edge\/(?:secrets|tls)\/(?<file>.+)$/u.exec(path)?.groups?.['file'];
    if (file === undefined) return path;
    return file.startsWith('tls.') ? files[file as 'tls.crt' | 'tls.key'] : join(directory, 'secrets', file);
  };
  return Object.fromEntries(
    env.map(({ name: variable, value = name }) => [variable, here(value.replaceAll('$(ADMIN_NAME)', name))]),
  );
}

function unknownIn(env: Readonly<Record<string, string>>, known: readonly string[]): readonly string[] {
  return Object.keys(env).filter((name) => !known.includes(name) && !OF_NODE.includes(name));
}
