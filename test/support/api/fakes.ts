/** An API over ports that live in memory: for tests of what the API itself does. */
import { createMirror } from '../../../transport/releases/mirror.ts';
import { memoryReleaseRows } from '../releases/release-rows.ts';
import type { ExecutionContext } from 'ava';
import type { Clock } from '../../../actors/ports.ts';
import type { ReplyTo } from '../../../actors/reply-to.ts';
import type { Addressed } from '../../../actors/messages.ts';
import { ok, refuse, type Result } from '../../../actors/refusal.ts';
import { WHOLE } from '../../../actors/standing.ts';
import { createIds } from '../../../api/creation-ids.ts';
import type { Forwarding } from '../../../api/forwarding/forwarding.ts';
import type { OperationPorts } from '../../../api/ports.ts';
import { createApi, type Api, type ApiSettings } from '../../../api/rest/server.ts';
import { fakeAdminMetrics } from '../observability/metric-sources.ts';
import { recordingLog } from '../log.ts';
import { commandOf } from './command.ts';
import { quietOverview } from './quiet-overview.ts';

/** One key a scope, all different. */
export const KEYS = {
  master: 'master-key-of-the-tests-1234',
  api: 'api-key-of-the-tests-12345678',
  metrics: 'metrics-key-of-the-tests-1234',
  mcp: 'mcp-key-of-the-tests-12345678',
  proxy: 'proxy-key-of-the-tests-123456',
} as const;

/** A UUID that names nothing. */
export const SOME_ID = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01';

/** An instant that the fake clock shows first. */
export const NOW_MS = Date.UTC(2026, 0, 15, 10);

const WELL = { name: 'database', healthy: true, duration_ms: 1, error: null };

/** What a test may replace. */
export interface FakeOptions {
  readonly ports?: Partial<OperationPorts>;
  readonly reads?: Partial<OperationPorts['reads']>;
  readonly records?: Partial<OperationPorts['records']>;
  readonly settings?: Partial<ApiSettings>;
  readonly gate?: Partial<ApiSettings['gate']>;
  readonly operations?: Partial<OperationPorts['settings']>;
  /** Default: there are no other admins. */
  readonly forwarding?: Forwarding;
}

/** A served API and what it did. */
export interface ServedApi {
  readonly api: Api;
  readonly url: string;
  readonly log: ReturnType<typeof recordingLog>;
  /** Everything that was asked of actors, in order. */
  readonly asked: Addressed[];
  readonly clock: { nowMs: number };
  /** A request with the API key unless `headers` say otherwise, its body as JSON. */
  readonly request: (
    method: string,
    path: string,
    options?: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> },
  ) => Promise<Reply>;
}

/** An answer, its body parsed; null when there was none. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly data?: Readonly<Record<string, unknown>>;
    readonly error?: { readonly code: string; readonly message: string; readonly details: unknown };
    readonly meta?: { readonly request_id: string; readonly timestamp: string; readonly pagination?: object };
  } | null;
}

/**
 * Serves the API on a free port until the test ends. Lists are empty, single reads find nothing, and every ask is
 * answered with a command.
 */
export async function serveApi(t: Pick<ExecutionContext, 'teardown'>, options: FakeOptions = {}): Promise<ServedApi> {
  const log = recordingLog();
  const asked: Addressed[] = [];
  const clock = { nowMs: NOW_MS };
  const ask = async <T>(build: (replyTo: ReplyTo) => Addressed) => {
    const addressed = build(1 as ReplyTo);
    asked.push(addressed);
    return ok(commandOf(addressed.to.id)) as Result<unknown> as Result<T>;
  };
  const ports = fakePorts(
    { ...options, ports: { ask, ...options.ports } },
    { nowMs: () => clock.nowMs, after: () => () => {} },
  );
  const { forwarding } = options;
  const api = createApi({
    ports,
    log,
    settings: fakeSettings(options),
    ...(forwarding !== undefined && { forwarding }),
  });
  const url = await api.listen('127.0.0.1', 0);
  t.teardown(() => api.close());

  return {
    api,
    url,
    log,
    asked,
    clock,
    async request(method, path, { body, headers = {} } = {}) {
      const response = await fetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${KEYS.api}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? null : (JSON.parse(text) as Reply['body']),
      };
    },
  };
}

/** Settings of an API with all of its keys, where many may fail to show theirs. */
export function fakeSettings({ settings, gate }: Pick<FakeOptions, 'settings' | 'gate'>): ApiSettings {
  return {
    bodyBytesMax: 65_536,
    recordings: { bytesMax: 65_536 },
    docsEnabled: true,
    version: '0.0.0-test',
    ...settings,
    gate: {
      masterKey: KEYS.master,
      apiKey: KEYS.api,
      metricsKey: KEYS.metrics,
      mcpKey: KEYS.mcp,
      proxyKey: KEYS.proxy,
      apiAuthEnabled: true,
      metricsAuthEnabled: true,
      mcpAuthEnabled: true,
      failuresPerMinuteMax: 1_000_000,
      ...gate,
    },
  };
}

/** Ports of an admin that is well and has nothing: only actors, and what a test replaces, are up to it. */
export function fakePorts(
  { ports, reads, records, operations }: FakeOptions & { readonly ports: Pick<OperationPorts, 'ask'> },
  clock: Clock,
): OperationPorts {
  return {
    reads: {
      list: async () => ({ rows: [], totalCount: 0 }),
      get: async () => null,
      clusterId: async () => null,
      freeRanges: async () => ({ ipv4Range: '100.64.1.0/24', ipv6Range: 'fd00:0:0:1::/64' }),
      targets: async () => [],
      groupTargeting: async () => null,
      executionNode: async () => null,
      aliasNode: async () => null,
      recoveryKeyNode: async () => null,
      sshUsernameNode: async () => null,
      sshPublicKeyNode: async () => null,
      enrollmentKeyByNonce: async () => null,
      enrollmentKey: async () => null,
      nodeForEnrollment: async () => null,
      nodeByToken: async () => null,
      deletedByToken: async () => false,
      delivery: async () => null,
      deliveredEvent: async () => null,
      idempotencyRecord: async () => null,
      nodesAfter: async () => ({ rows: [], next: null }),
      eventsAfter: async () => ({ events: [], cursor: '0', bytes: 0, more: false }),
      missedEvents: async () => ({ events: [], cursor: '0', bytes: 0, more: false }),
      beforeLatest: async () => '0',
      nodeEvents: async () => ok({ rows: [], totalCount: 0 }),
      ping: async () => {},
      ...reads,
    },
    records: {
      deleteExecution: async () => ok(null),
      deleteSelfUpdate: async () => ok(null),
      storeRecording: async () => 'stored',
      deleteRecording: async () => ok(null),
      publish: async ({ type, subject, atMs, data }) => ({
        cursor: '1',
        id: SOME_ID,
        type,
        subject,
        time: new Date(atMs).toISOString(),
        data,
      }),
      ...records,
    },
    groups: {
      create: async ({ id, name, description, targeting, atMs }) => {
        const at = new Date(atMs).toISOString();
        return ok({ id, name, description, targeting, inserted_at: at, updated_at: at });
      },
      update: async () => false,
      remove: async () => false,
    },
    vault: {
      newSecret: () => 'a-secret-of-at-least-22-characters',
      sha256: (text) => new TextEncoder().encode(`hash of ${text}`),
      seal: (text) => `sealed ${text}`,
    },
    passwords: { hash: async (password) => `hash of ${password}` },
    releases: createMirror(
      { RELEASES_BYTES_MAX: 1_073_741_824, RELEASE_DOWNLOAD_BYTES_PER_SECOND: 1_073_741_824 },
      memoryReleaseRows(),
      () => performance.now(),
    ),
    nodeHistories: { get: async () => refuse('service_unavailable', 'There is no node here.') },
    nodeSshSessions: { get: async () => refuse('service_unavailable', 'There is no node here.') },
    nodeDiagnoses: { get: async () => refuse('not_found', 'Resource not found'), take: async () => ok(null) },
    nodeMetrics: {
      raw: async () => refuse('service_unavailable', 'There is no node here.'),
      host: async () => refuse('service_unavailable', 'There is no node here.'),
      agent: async () => refuse('service_unavailable', 'There is no node here.'),
    },
    discovery: { async *pieces() {} },
    consoleSessions: { list: async () => [], end: async () => false },
    adminMetrics: fakeAdminMetrics(),
    proxyPorts: () => ({ http: 43_128, socks5: 41_080 }),
    admin: {
      me: async () => ({
        id: SOME_ID,
        name: 'one',
        version: '0.0.0',
        role: 'admin',
        admin_cluster_name: 'default',
        erlang_node_name: 'one@host',
        vpn_host_id: null,
        vpn_hostname: null,
        max_wireguard_peers: 1,
        admin_peer_count: 0,
        edge_node_capacity: 1,
        last_computed_at: '2026-01-15T10:00:00.000Z',
      }),
    },
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
    peerAdmins: {
      list: async () => [],
      find: async () => null,
      clustersOf: async () => [],
      drain: async () => refuse('not_found', 'There is no admin of this name or id.'),
      resume: async () => refuse('not_found', 'There is no admin of this name or id.'),
    },
    overview: async () => quietOverview(new Date(NOW_MS).toISOString()),
    adminLink: () => null,
    clock,
    newId: createIds(() => clock.nowMs()),
    urlGuard: { problem: async () => null },
    deliversWebhooks: () => true,
    standing: () => WHOLE,
    makeRoom: () => Promise.resolve(false),
    checkHealth: async () => [WELL],
    recentHealth: async () => [WELL],
    checkClusterHealth: async () => [],
    settings: {
      adminUrls: ['http://127.0.0.1:44000'],
      vpnDomain: 'edge.internal',
      coreName: 'default',
      defaultClusterName: null,
      publicEnrollmentKeyEnabled: false,
      ...operations,
    },
    ...ports,
  };
}
