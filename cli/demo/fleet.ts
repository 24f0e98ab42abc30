/** The demo's admin and agents, started and enrolled. */
import { mkdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { createClient, createLiveClient, type Api } from '../client.ts';
import type { Connection } from '../connection.ts';
import { Problem } from '../problem.ts';
import type { DemoHome } from './home.ts';
import { freePorts, type DemoPorts } from './ports.ts';
import { startProgram, type RunningProgram } from './processes.ts';

/** The cluster of the demo. */
export const DEMO_CLUSTER = 'demo';

/** The domain of its nodes' names. Source: docs/settings.md. */
export const DEMO_DOMAIN = 'edge.internal';

/** How long the admin may take to answer, and the agents to connect, in ms. A first start creates the database. */
const READY_MS_MAX = 60_000;
const LOOK_MS = 50;

/** Settings of an agent that name its ports. */
const PORT_SETTINGS = [
  'AGENT_API_PORT',
  'AGENT_SSH_PORT',
  'AGENT_HOST_METRICS_PORT',
  'AGENT_WIREGUARD_METRICS_PORT',
  'AGENT_HTTP_PROXY_PORT',
  'AGENT_SOCKS5_PROXY_PORT',
] as const;

/** Starts the admin and waits until it answers. */
export async function startAdmin(
  home: DemoHome,
  ports: DemoPorts,
  started: (program: RunningProgram) => void,
): Promise<Connection> {
  const connection = { url: `http://127.0.0.1:${ports.api}`, key: home.key };
  const admin = startProgram(
    'edge-admin',
    'edge-admin.ts',
    ['serve'],
    {
      MASTER_KEY: home.key,
      ADMIN_API_HOST: '127.0.0.1',
      ADMIN_API_PORT: String(ports.api),
      ADMIN_PROXY_HOST: '127.0.0.1',
      ADMIN_HTTP_PROXY_PORT: String(ports.http),
      ADMIN_SOCKS5_PROXY_PORT: String(ports.socks5),
      ADMIN_OBSERVER_PORT: '0',
      ADMIN_GATEWAY_ENABLED: 'false',
      EMBEDDED_RELAY: 'true',
      EMBEDDED_RELAY_HOST: '127.0.0.1',
      EMBEDDED_RELAY_PORT: '0',
      ADMIN_URLS: connection.url,
      DATA_DIR: home.path('admin'),
      ADMIN_NAME: 'demo',
      DEFAULT_CLUSTER_NAME: DEMO_CLUSTER,
      WEBHOOK_ALLOW_PRIVATE_IPS: 'true', // so that `edge webhook listen` on this machine can be tried at once
    },
    home.path('admin.log'),
  );
  started(admin);
  await Promise.race([healthy(connection), admin.failed]);
  return connection;
}

async function healthy({ url }: Connection): Promise<void> {
  const deadlineMs = performance.now() + READY_MS_MAX;
  while (performance.now() < deadlineMs) {
    const ok = await fetch(`${url}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    await wait(LOOK_MS);
  }
  throw new Problem(`the admin does not answer at ${url} after ${READY_MS_MAX / 1_000} s`);
}

/** Starts the agents, each with a data directory and ports of its own, and waits until all are healthy. */
export async function startAgents(
  home: DemoHome,
  connection: Connection,
  count: number,
  started: (program: RunningProgram) => void,
): Promise<void> {
  const api = createClient(connection);
  await ensureCluster(api);
  const { key, id } = await api.create_enrollment_key.mutate({
    cluster_name: DEMO_CLUSTER,
    name: 'npm run demo',
    uses_remaining: count,
    expired_at: new Date(Date.now() + READY_MS_MAX).toISOString(),
  });
  const ports = await freePorts(count * PORT_SETTINGS.length);

  const agents = Array.from({ length: count }, (_none, index) => {
    const name = `demo-${index + 1}`;
    mkdirSync(home.path(name), { recursive: true, mode: 0o700 });
    const own = ports.slice(index * PORT_SETTINGS.length);
    const agent = startProgram(
      `agent ${name}`,
      'edge-agent.ts',
      ['up'],
      {
        ENROLLMENT_KEY: key,
        ADMIN_URLS: connection.url,
        AGENT_DATA_DIR: home.path(name),
        AGENT_ALIASES: name,
        VPN_ENABLED: 'false', // nobody expects a demo to make network interfaces
        AGENT_SSH_UNKNOWN_USERS: 'agent', // whoever starts the demo as root has the users of the guide nowhere
        ...Object.fromEntries(PORT_SETTINGS.map((setting, at) => [setting, String(own[at])])),
      },
      home.path(`${name}.log`),
    );
    started(agent);
    return agent;
  });
  await Promise.race([allHealthy(connection, count), ...agents.map(({ failed }) => failed)]);
  await api.delete_enrollment_key.mutate({ id }); // done with, also when all agents were enrolled before
}

async function ensureCluster(api: Api): Promise<void> {
  const { data } = await api.list_clusters.query({ name: DEMO_CLUSTER });
  if (data.length === 0) await api.create_cluster.mutate({ name: DEMO_CLUSTER });
}

/** Watches the nodes of the cluster until so many are healthy. */
async function allHealthy(connection: Connection, count: number): Promise<void> {
  const live = createLiveClient(connection);
  const deadline = AbortSignal.timeout(READY_MS_MAX);
  try {
    await new Promise<void>((resolve, reject) => {
      const statuses = new Map<string, string>();
      live.api.nodes.watch.subscribe(
        { cluster_name: DEMO_CLUSTER },
        {
          onData({ data }) {
            for (const node of data.nodes) if (node.status !== undefined) statuses.set(node.id, node.status);
            if (data.type === 'changed') for (const id of data.removed) statuses.delete(id);
            if ([...statuses.values()].filter((status) => status === 'healthy').length >= count) resolve();
          },
          onError: reject,
        },
      );
      deadline.addEventListener(
        'abort',
        () =>
          reject(
            new Problem(
              `not all agents are connected after ${READY_MS_MAX / 1_000} s: their logs are in the demo's directory`,
            ),
          ),
        { once: true },
      );
    });
  } finally {
    live.close();
  }
}
