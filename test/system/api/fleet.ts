/** A whole admin with a small fleet of enrolled nodes that have no agent, for tests of operations on real rows. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext, TestFn } from 'ava';
import { NOT_KNOWN } from '../../../actors/refusal.ts';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { ENROLL_PATH } from '../../../transport/protocol/version.ts';
import { ADMIN_KEYS, startTestAdmin, type TestAdmin } from '../../support/admin.ts';
import { PORTS } from '../../support/actors.ts';
import { scaled } from '../../support/busy.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

/** How long what cannot be done right now is asked for again, in ms. */
const RETRY_MS_MAX = 10_000;

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
  readonly once: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Reply>;
  /** The same, made again for RETRY_MS_MAX where the admin says that it did nothing, as it cannot right now. */
  readonly request: Fleet['once'];
  /** Enrols a node with a key blob. */
  readonly enroll: (key: string, node: Readonly<Record<string, unknown>>) => Promise<Reply>;
  /** An enrolment key of a cluster, for any number of nodes. */
  readonly key: (cluster: string) => Promise<string>;
  /** Makes a cluster with this many nodes and answers their ids. */
  readonly cluster: (name: string, nodes: number) => Promise<readonly string[]>;
  /** Enrols a node in a cluster that is there. */
  readonly node: (cluster: string) => Promise<EnrollAnswer>;
}

/** Starts an admin for the test. */
export async function startFleet(
  t: Pick<ExecutionContext, 'teardown'>,
  env: Readonly<Record<string, string>> = {},
): Promise<Fleet> {
  const admin = await startTestAdmin(t, env);

  const once: Fleet['once'] = async (method, path, body, headers = {}) => {
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
  const request: Fleet['request'] = async (...asked) => {
    const beganMs = performance.now();
    for (;;) {
      const reply = await once(...asked);
      if (!isUndone(reply) || performance.now() - beganMs > scaled(RETRY_MS_MAX)) return reply;
      await delay(Number(reply.headers.get('retry-after') ?? 1) * 1_000);
    }
  };
  const enroll: Fleet['enroll'] = (key, node) =>
    request('POST', ENROLL_PATH, { ...enrollment(key), ...node }, { authorization: '' });

  /** Creates; where the admin cannot do it right now it is asked again, as users do. */
  const made = (path: string, body: object): Promise<Reply> => {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    return until(`POST ${path}`, async () => {
      const reply = await request('POST', path, body, headers);
      return reply.status === 503 ? null : reply;
    });
  };
  const key: Fleet['key'] = async (cluster) =>
    String((await made(`/clusters/${cluster}/enrollment_keys`, { uses_remaining: null })).data['key']);
  const enrolled = async (by: string): Promise<EnrollAnswer> => {
    const machine = { node_id: crypto.randomUUID(), machine_secret: randomBytes(32).toString('base64url') };
    return until('the enrolment', async () => {
      const { status, data, error } = await enroll(by, machine);
      if (status === 503) return null; // asked again, as agents do
      if (status !== 201) throw new Error(`enrolment answered ${status}: ${JSON.stringify(error)}`);
      return data as unknown as EnrollAnswer;
    });
  };

  return {
    admin,
    once,
    request,
    enroll,
    key,
    node: async (cluster) => enrolled(await key(cluster)),
    async cluster(name, nodes) {
      await made('/clusters', { name });
      const by = await key(name);
      const ids: string[] = [];
      for (let made = 0; made < nodes; made += 1) ids.push((await enrolled(by)).node_id);
      return ids;
    },
  };
}

/** Whether it was refused for now, as of a lease that ran out on a busy machine, and is not in doubt. */
function isUndone({ error }: Reply): boolean {
  return error?.code === 'service_unavailable' && !error.message.startsWith(NOT_KNOWN);
}

/** Starts something before the tests of this file and ends it after them. The returned function gives it. */
export function shared<T>(test: TestFn, start: (scope: Scope) => Promise<T>): () => T {
  const scope = createScope();
  let started: T | undefined;
  test.serial.before('the admin starts', async () => {
    started = await start(scope);
  });
  test.serial.after.always('the admin ends', () => scope.end());
  return () => {
    if (started === undefined) throw new Error('the admin did not start');
    return started;
  };
}

function enrollment(enrollment_key: string) {
  return {
    enrollment_key,
    id_type: 'persistent',
    version: '0.1.0',
    self_update_enabled: false,
    ports: PORTS,
  };
}
