/** The demo's admin and agents, started and enrolled. */
import { mkdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { createClient, createLiveClient, subscribePatiently, type Api, type Node } from '../service/client.ts';
import type { Connection } from '../service/connection.ts';
import { Problem } from '../problem.ts';
import type { DemoHome } from './home.ts';
import type { DemoPorts } from './ports.ts';
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
      ...adminSettings(home, ports),
      EMBEDDED_RELAY: 'true',
      EMBEDDED_RELAY_HOST: '127.0.0.1',
      EMBEDDED_RELAY_PORT: '0',
      ADMIN_URLS: connection.url,
      ADMIN_NAME: 'demo',
      DEFAULT_CLUSTER_NAME: DEMO_CLUSTER,
    },
    home.path('admin.log'),
  );
  started(admin);
  await Promise.race([healthy(connection.url), admin.failed]);
  return connection;
}

/** What every admin of a demo is told. */
export function adminSettings(home: DemoHome, ports: DemoPorts): Readonly<Record<string, string>> {
  return {
    MASTER_KEY: home.key,
    ADMIN_API_HOST: '127.0.0.1',
    ADMIN_API_PORT: String(ports.api),
    ADMIN_PROXY_HOST: '127.0.0.1',
    ADMIN_HTTP_PROXY_PORT: String(ports.http),
    ADMIN_SOCKS5_PROXY_PORT: String(ports.socks5),
    ADMIN_OBSERVER_PORT: '0',
    ADMIN_GATEWAY_ENABLED: 'false',
    DATA_DIR: home.path('admin'),
    WEBHOOK_ALLOW_PRIVATE_IPS: 'true', // so that `edge webhook listen` on this machine can be tried at once
  };
}

/** Resolves when the admin there says that it is well. */
export async function healthy(url: string): Promise<void> {
  const deadlineMs = performance.now() + READY_MS_MAX;
  while (performance.now() < deadlineMs) {
    const restMs = Math.max(1, Math.ceil(deadlineMs - performance.now()));
    const ok = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(restMs) }).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    await wait(LOOK_MS);
  }
  throw new Problem(`the admin does not answer at ${url} after ${READY_MS_MAX / 1_000} s`);
}

/** An agent of the demo. */
export interface DemoAgent {
  /** Its alias, and the name of its directory and of its log. */
  readonly name: string;
  readonly cluster: string;
  readonly adminUrls: readonly string[];
}

/**
 * Starts the agents, each with a data directory and ports of its own, and waits until all are healthy. Their clusters
 * are there.
 */
export async function startAgents(
  home: DemoHome,
  connection: Connection,
  agents: readonly DemoAgent[],
  started: (program: RunningProgram) => void,
): Promise<void> {
  const api = createClient(connection);
  const clusters = [...new Set(agents.map(({ cluster }) => cluster))];
  const keys = new Map<string, { readonly key: string; readonly id: string }>();
  for (const cluster_name of clusters)
    keys.set(
      cluster_name,
      await api.create_enrollment_key.mutate({
        cluster_name,
        name: 'npm run demo',
        uses_remaining: agents.filter(({ cluster }) => cluster === cluster_name).length,
        expired_at: new Date(Date.now() + READY_MS_MAX).toISOString(),
      }),
    );

  const programs = agents.map(({ name, cluster, adminUrls }) => {
    mkdirSync(home.path(name), { recursive: true, mode: 0o700 });
    const agent = startProgram(
      `agent ${name}`,
      'edge-agent.ts',
      ['up'],
      {
        ENROLLMENT_KEY: keys.get(cluster)?.key ?? '',
        ADMIN_URLS: adminUrls.join(','),
        AGENT_DATA_DIR: home.path(name),
        AGENT_ALIASES: name,
        VPN_ENABLED: 'false', // nobody expects a demo to make network interfaces
        AGENT_SSH_UNKNOWN_USERS: 'agent', // whoever starts the demo as root has the users of the guide nowhere
        ...Object.fromEntries(PORT_SETTINGS.map((setting) => [setting, '0'])), // whichever are free then
      },
      home.path(`${name}.log`),
    );
    started(agent);
    return agent;
  });
  await Promise.race([allHealthy(connection, clusters, agents.length), ...programs.map(({ failed }) => failed)]);
  // done with, also when all agents were enrolled before
  for (const { id } of keys.values()) await api.delete_enrollment_key.mutate({ id });
}

/** Creates the cluster at the admin that is asked, unless it is there. */
export async function ensureCluster(api: Api, name: string): Promise<void> {
  const { data } = await api.list_clusters.query({ name });
  if (data.length === 0) await api.create_cluster.mutate({ name });
}

type NodesMessage =
  | { readonly type: 'snapshot'; readonly nodes: readonly Node[] }
  | {
      readonly type: 'changed';
      readonly nodes: readonly ({ readonly id: string } & Partial<Node>)[];
      readonly removed: readonly string[];
    };

/** Watches the nodes of these clusters until so many are healthy. */
async function allHealthy(connection: Connection, clusters: readonly string[], count: number): Promise<void> {
  const live = createLiveClient(connection);
  const deadline = AbortSignal.timeout(READY_MS_MAX);
  try {
    await new Promise<void>((resolve, reject) => {
      const statuses = new Map<string, string>();
      subscribePatiently<NodesMessage>(
        (handlers) => live.api.nodes.watch.subscribe({ cluster_name__in: [...clusters] }, handlers),
        {
          data(message) {
            for (const node of message.nodes) if (node.status !== undefined) statuses.set(node.id, node.status);
            if (message.type === 'changed') for (const id of message.removed) statuses.delete(id);
            if ([...statuses.values()].filter((status) => status === 'healthy').length >= count) resolve();
          },
          failed: reject,
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
