/** An API server over rows in memory, with the surfaces that a test mounts on it. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../actors/ports.ts';
import type { Addressed } from '../../../actors/messages.ts';
import { ok, refuse, type Result } from '../../../actors/refusal.ts';
import type { GateSettings } from '../../../api/principals.ts';
import { createApi, type Api, type Mount } from '../../../api/rest/server.ts';
import { recordingLog } from '../log.ts';
import { fakeAdminMetrics } from '../metric-sources.ts';
import type { Scope } from '../scope.ts';
import { AT, createFixture, type Fixture } from './rows.ts';
import type { Reads, OperationPorts } from '../../../api/ports.ts';

/** Keys, one a scope, all different. */
export const KEYS = {
  master: 'master-key-of-the-test',
  api: 'api-key-of-the-test',
  metrics: 'metrics-key-of-the-test',
  mcp: 'mcp-key-of-the-test',
  proxy: 'proxy-key-of-the-test',
} as const;

const GATE: GateSettings = {
  masterKey: KEYS.master,
  apiKey: KEYS.api,
  metricsKey: KEYS.metrics,
  mcpKey: KEYS.mcp,
  proxyKey: KEYS.proxy,
  apiAuthEnabled: true,
  metricsAuthEnabled: true,
  mcpAuthEnabled: true,
  failuresPerMinuteMax: 1_000,
};

export interface Served {
  readonly url: string;
  readonly api: Api;
  readonly fixture: Fixture;
  readonly log: ReturnType<typeof recordingLog>;
  /** Everything that was asked of actors, oldest first. */
  readonly asked: Addressed[];
  /** What actors answer. */
  answer: (asked: Addressed) => Result<unknown>;
}

/** Starts it on a free port; the test ends it. */
export async function serve(
  t: Scope,
  {
    mounts = () => [],
    gate = {},
  }: {
    readonly mounts?: (fixture: Fixture, clock: Clock) => readonly Mount[];
    readonly gate?: Partial<GateSettings>;
  } = {},
): Promise<Served> {
  const fixture = createFixture();
  const log = recordingLog();
  const asked: Addressed[] = [];
  const served = {
    fixture,
    log,
    asked,
    answer: (): Result<unknown> => refuse('not_found', 'Resource not found'),
  } as unknown as { -readonly [Key in keyof Served]: Served[Key] };
  const api = createApi({
    ports: portsOf(fixture, served),
    log,
    mounts: mounts(fixture, realClock),
    settings: {
      gate: { ...GATE, ...gate },
      bodyBytesMax: 1_048_576,
      recordings: { bytesMax: 1_048_576 },
      docsEnabled: false,
      version: '0.0.0-test',
    },
  });
  served.api = api;
  served.url = await api.listen('127.0.0.1', 0);
  t.teardown(() => api.close());
  return served;
}

/** Time as it is. */
export const realClock: Clock = {
  nowMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

function portsOf(fixture: Fixture, served: Served): OperationPorts {
  return {
    ask: (async (build) => {
      const addressed = build(1 as never);
      served.asked.push(addressed);
      return Promise.resolve(served.answer(addressed));
    }) as OperationPorts['ask'],
    reads: readsOf(fixture),
    records: {
      deleteExecution: () => Promise.resolve(refuse('not_found', 'Resource not found')),
      publish: (event) =>
        Promise.resolve({
          cursor: '1',
          id: randomUUID(),
          type: event.type,
          subject: event.subject,
          time: AT,
          data: event.data,
        }),
      storeRecording: () => Promise.resolve('stored'),
      deleteRecording: () => Promise.resolve(refuse('not_found', 'Resource not found')),
    },
    vault: {
      newSecret: () => 'secret',
      sha256: () => new Uint8Array(32),
      seal: (text) => text,
    },
    passwords: { hash: (password) => Promise.resolve(password) },
    nodeDiagnoses: {
      get: () => Promise.resolve(refuse('not_found', 'Resource not found')),
      take: () => Promise.resolve(ok(null)),
    },
    nodeMetrics: {
      raw: () => Promise.resolve(refuse('service_unavailable', 'There is no node here.')),
      host: () => Promise.resolve(refuse('service_unavailable', 'There is no node here.')),
      agent: () => Promise.resolve(refuse('service_unavailable', 'There is no node here.')),
    },
    discovery: { async *pieces() {} },
    adminMetrics: fakeAdminMetrics(),
    adminTopology: {
      mine: async () => ({
        name: 'default',
        total_admins: 1,
        total_edge_capacity: 1,
        total_nodes: 0,
        topology: [],
        edge_clusters: {},
      }),
      adminClusters: async () => [],
      edgeClusters: async () => ({}),
      ownerless: async () => ({}),
    },
    admin: {
      me: () =>
        Promise.resolve({
          id: randomUUID(),
          name: 'test',
          version: '0.0.0',
          role: 'admin',
          admin_cluster_name: 'default',
          erlang_node_name: 'test@localhost',
          vpn_host_id: null,
          vpn_hostname: null,
          max_wireguard_peers: 1,
          admin_peer_count: 0,
          edge_node_capacity: 1,
          last_computed_at: AT,
        }),
    },
    clock: realClock,
    newId: randomUUID,
    urlGuard: { problem: () => Promise.resolve(null) },
    deliversWebhooks: () => true,
    isDegraded: () => false,
    orphans: () => [],
    checkHealth: () => Promise.resolve([{ name: 'database', healthy: true, duration_ms: 1, error: null }]),
    checkClusterHealth: () => Promise.resolve([]),
    settings: {
      adminUrls: ['http://localhost'],
      vpnDomain: 'edge.internal',
      coreName: 'default',
      defaultClusterName: 'demo',
      publicEnrollmentKeyEnabled: true,
    },
  };
}

/** Reads of the rows that the fixture has; other lists are empty. */
function readsOf(fixture: Fixture): Reads {
  const rowsOf = (name: string): readonly unknown[] => {
    if (fixture.failing) throw new Error('a cause that nobody may see');
    if (name === 'nodes') return [...fixture.nodes.values()];
    if (name === 'commands') return [...fixture.commands.values()];
    return name === 'command_executions' ? [...fixture.executions.values()] : [];
  };
  const nothing = (): Promise<null> => Promise.resolve(null);
  return {
    list: (async (name: string, { page, pageSize }: { readonly page: number; readonly pageSize: number }) => {
      const rows = rowsOf(name);
      return Promise.resolve({ rows: rows.slice((page - 1) * pageSize, page * pageSize), totalCount: rows.length });
    }) as Reads['list'],
    get: (async (name: string, key: string) =>
      Promise.resolve(rowsOf(name).find((row) => (row as { readonly id: string }).id === key) ?? null)) as Reads['get'],
    clusterId: nothing,
    freeRanges: nothing,
    executionNode: nothing,
    aliasNode: nothing,
    sshUsernameNode: nothing,
    sshPublicKeyNode: nothing,
    enrollmentKeyByNonce: nothing,
    enrollmentKey: nothing,
    nodeForEnrollment: nothing,
    nodeByToken: nothing,
    deletedByToken: () => Promise.resolve(false),
    delivery: nothing,
    idempotencyRecord: nothing,
    targets: () => Promise.resolve([]),
    eventsAfter: () => Promise.resolve({ events: [], cursor: '0' }),
    ping: () => Promise.resolve(),
  };
}

/** A create that worked: the answer of `create_command`. */
export function answerWith(value: unknown): () => Result<unknown> {
  return () => ok(value);
}
