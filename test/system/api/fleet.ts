/** A whole admin with a small fleet of enrolled nodes that have no agent, for tests of operations on real rows. */
import type { ExecutionContext } from 'ava';
import { ENROLL_PATH } from '../../../transport/protocol/version.ts';
import { ADMIN_KEYS, startTestAdmin, type TestAdmin } from '../../support/admin.ts';

/** An answer: `data` of a single one, `rows` and `total` of a list. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Readonly<Record<string, unknown>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
  readonly error:
    | {
        readonly code: string;
        readonly message: string;
        readonly details: Readonly<Record<string, readonly string[]>> | null;
      }
    | undefined;
}

/** An admin and how to use it. */
export interface Fleet {
  readonly admin: TestAdmin;
  /** A REST call with the API key, below /api/v1. */
  readonly request: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Reply>;
  /** Enrols a node with a key blob. */
  readonly enroll: (key: string, node: Readonly<Record<string, unknown>>) => Promise<Reply>;
  /** Makes a cluster with this many nodes and answers their ids. */
  readonly cluster: (name: string, nodes: number) => Promise<readonly string[]>;
}

/** Starts an admin for the test. */
export async function startFleet(
  t: Pick<ExecutionContext, 'teardown'>,
  env: Readonly<Record<string, string>> = {},
): Promise<Fleet> {
  const admin = await startTestAdmin(t, env);

  const request: Fleet['request'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${admin.url}${path.startsWith('/api/') ? '' : '/api/v1'}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${ADMIN_KEYS.API_KEY}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed = (text === '' ? {} : JSON.parse(text)) as {
      readonly data?: unknown;
      readonly error?: Reply['error'];
      readonly meta?: { readonly pagination?: { readonly total_count: number } };
    };
    return {
      status: response.status,
      headers: response.headers,
      data: (parsed.data ?? {}) as Reply['data'],
      rows: Array.isArray(parsed.data) ? (parsed.data as Reply['rows']) : [],
      total: parsed.meta?.pagination?.total_count ?? Number.NaN,
      error: parsed.error,
    };
  };
  const enroll: Fleet['enroll'] = (key, node) =>
    request('POST', ENROLL_PATH, { ...enrollment(key), ...node }, { authorization: '' });

  return {
    admin,
    request,
    enroll,
    async cluster(name, nodes) {
      await request('POST', '/clusters', { name });
      const {
        data: { key },
      } = await request('POST', `/clusters/${name}/enrollment_keys`, { uses_remaining: null });
      const ids = Array.from({ length: nodes }, () => crypto.randomUUID());
      for (const node_id of ids) {
        const { status, error } = await enroll(String(key), { node_id });
        if (status !== 201) throw new Error(`enrolment answered ${status}: ${JSON.stringify(error)}`);
      }
      return ids;
    },
  };
}

function enrollment(enrollment_key: string) {
  return {
    enrollment_key,
    id_type: 'persistent',
    version: '0.1.0',
    self_update_enabled: false,
    ports: {
      http_port: 44_000,
      ssh_port: 40_022,
      host_metrics_port: 49_100,
      wireguard_metrics_port: 49_586,
      http_proxy_port: 43_128,
      socks5_proxy_port: 41_080,
    },
  };
}
