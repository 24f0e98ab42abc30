/** The list of nodes that monitoring systems read: its form, its filters, and what cuts it. */
import { request as httpRequest } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { Filter } from '../../../actors/filters.ts';
import { until } from '../../support/until.ts';
import { KEYS, serveApi, SOME_ID, type FakeOptions, type ServedApi } from '../../support/api/fakes.ts';
import { METRICS_SOURCES } from '../../../actors/resources/node-metrics.ts';

const BY_METRICS_KEY = { headers: { authorization: `Bearer ${KEYS.metrics}` } };

const OTHER_ID = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d02';

const NODES: readonly FoundNode[] = [
  {
    id: SOME_ID,
    cluster_name: 'prod',
    status: 'healthy',
    version: '1.0.0',
    name: 'web-1',
    facts: ['press "7"', 'debian', 'x86_64'],
    labels: { env: 'prod', 'example.com/rack-no': '7', 'a.b': 'second', 'a-b': 'first', a_b: 'third' },
  },
  {
    id: OTHER_ID,
    cluster_name: 'prod',
    status: 'unreachable',
    version: '2 "β"\\',
    name: OTHER_ID.slice(0, 8),
    facts: [null, null, null],
    labels: {},
  },
];

/** What each of them is, as labels. */
const DESCRIBED: Readonly<Record<string, object>> = {
  [SOME_ID]: {
    name: 'web-1',
    hostname: 'press "7"',
    os: 'debian',
    arch: 'x86_64',
    label_env: 'prod',
    label_example_com_rack_no: '7',
    // of keys that come to the same name the first in alphabetical order is told
    label_a_b: 'first',
  },
  [OTHER_ID]: { name: OTHER_ID.slice(0, 8) },
};

interface FoundNode {
  readonly id: string;
  readonly cluster_name: string;
  readonly status: string;
  readonly version: string;
  readonly name: string;
  readonly facts: readonly (string | null)[];
  readonly labels: Readonly<Record<string, string>>;
}

/** As the database writes it. */
function written({ id, cluster_name: cluster, status, version, name, facts, labels }: FoundNode): string {
  const fields = [
    id,
    JSON.stringify(cluster),
    status,
    ...[version, name, facts, labels].map((one) => JSON.stringify(one)),
  ];
  return `${fields.join('\t')}\n`;
}

/** An API that finds these nodes, a page each. */
async function discovering(
  t: ExecutionContext,
  options: FakeOptions = {},
  nodes: readonly FoundNode[] = NODES,
): Promise<ServedApi & { readonly asked: Filter[][] }> {
  const filters: Filter[][] = [];
  const discovery = {
    async *pieces(given: readonly Filter[]) {
      filters.push([...given]);
      for (const node of nodes) yield written(node);
    },
  };
  return { ...(await serveApi(t, { ...options, ports: { discovery, ...options.ports } })), asked: filters as never };
}

test('discovery is a bare array of one entry a node, as Prometheus reads it', async (t) => {
  const { url } = await discovering(t);

  for (const source of METRICS_SOURCES) {
    const answer = await fetch(`${url}/api/v1/nodes/metrics/${source}/discovery`, BY_METRICS_KEY);

    t.regex(answer.headers.get('content-type') ?? '', /^application\/json/u);
    t.deepEqual(
      await answer.json(),
      NODES.map(({ id, cluster_name: cluster, status, version }) => ({
        targets: ['127.0.0.1:44000'],
        labels: {
          node_id: id,
          cluster,
          status,
          version,
          ...DESCRIBED[id],
          job: `edge-${source}`,
          __metrics_path__: `/api/v1/nodes/${id}/metrics/${source}/raw`,
        },
      })),
    );
  }
});

test('a list that fills many chunks is whole, and one version may be longer than a chunk', async (t) => {
  const nodes = Array.from({ length: 3_000 }, (_, index): FoundNode => ({
    id: SOME_ID,
    cluster_name: `c${index}`,
    status: 'healthy',
    version: index === 1_500 ? '€'.repeat(60_000) : '😀'.repeat(index % 7),
    name: `n${index}`,
    facts: [`host-${index}`, null, null],
    labels: index === 1_501 ? { long: '😀'.repeat(60_000) } : { index: `${index}` },
  }));
  const { url } = await discovering(t, {}, nodes);

  const list = (await (await fetch(`${url}/api/v1/nodes/metrics/host/discovery`, BY_METRICS_KEY)).json()) as readonly {
    readonly labels: Readonly<Record<string, string>>;
  }[];

  t.deepEqual(
    list.map(({ labels }) => [
      labels['cluster'],
      labels['version'],
      labels['hostname'],
      labels['label_index'] ?? labels['label_long'],
    ]),
    nodes.map(({ cluster_name: cluster, version, facts, labels }) => [
      cluster,
      version,
      facts[0],
      Object.values(labels)[0],
    ]),
  );
});

test('no node is an empty array', async (t) => {
  const { url } = await discovering(t, {}, []);

  t.deepEqual(await (await fetch(`${url}/api/v1/nodes/metrics/host/discovery`, BY_METRICS_KEY)).json(), []);
});

test('where Prometheus reaches the admin decides the target, its scheme and the beginning of its path', async (t) => {
  for (const [metricsBaseUrl, target, scheme, prefix] of [
    ['https://edge.example.com', 'edge.example.com:443', 'https', ''],
    ['http://edge.example.com/', 'edge.example.com:80', undefined, ''],
    ['https://edge.example.com:8443/fleet/', 'edge.example.com:8443', 'https', '/fleet'],
    ['http://[2001:db8::1]:9000/a/b', '[2001:db8::1]:9000', undefined, '/a/b'],
  ] as const) {
    const { url } = await discovering(t, { operations: { metricsBaseUrl } });
    const [entry] = (await (await fetch(`${url}/api/v1/nodes/metrics/agent/discovery`, BY_METRICS_KEY)).json()) as {
      targets: string[];
      labels: Record<string, string>;
    }[];

    t.deepEqual(
      [entry?.targets, entry?.labels['__scheme__'], entry?.labels['__metrics_path__']],
      [[target], scheme, `${prefix}/api/v1/nodes/${SOME_ID}/metrics/agent/raw`],
    );
  }
});

test('discovery takes the filters of the list of nodes, and nothing else', async (t) => {
  const { request, asked } = await discovering(t);
  const get = (query: string) => request('GET', `/api/v1/nodes/metrics/host/discovery?${query}`, BY_METRICS_KEY);

  t.is(
    (
      await get(
        `status__in=healthy,unhealthy&cluster_name=prod*&node_id__in=${SOME_ID}&has_enrollment_key=true&version=1.*&last_seen_at__gte=2026-01-01`,
      )
    ).status,
    200,
  );
  t.deepEqual(asked.flat(), [
    { field: 'node_id', op: 'in', value: [SOME_ID] },
    { field: 'has_enrollment_key', op: 'eq', value: true },
    { field: 'status', op: 'in', value: ['healthy', 'unhealthy'] },
    { field: 'version', op: 'eq', value: '1.*' },
    { field: 'cluster_name', op: 'eq', value: 'prod*' },
    { field: 'last_seen_at', op: 'gte', value: Date.UTC(2026, 0, 1) },
  ]);
  for (const wrong of [
    'page=1',
    'page_size=10',
    'sort=version',
    'limit=1',
    'status=healthy',
    'status__in=ill',
    'node_id__in=1',
    'has_enrollment_key=yes',
    'version=1&version=2',
  ]) {
    const { status, body } = await get(wrong);
    t.is(status, 400, wrong);
    t.deepEqual(
      [body?.error?.code, Object.keys(body?.error?.details as object).map((field) => field.split('.')[0])],
      ['bad_request', [wrong.split('=')[0]]],
    );
  }
  t.deepEqual((await get('status=healthy')).body?.error?.details, { status: ['is not known; there is status__in'] });
});

test('discovery is a 503 if the database is away at first, and a cut list if it goes later, so that no half is taken', async (t) => {
  let before = 0;
  const discovery = {
    async *pieces() {
      for (let piece = 0; piece < before; piece += 1) yield NODES.map(written).join('').repeat(50);
      throw new DatabaseUnavailable('gone');
    },
  };
  const { url, request } = await serveApi(t, { ports: { discovery } });

  const away = await request('GET', '/api/v1/nodes/metrics/host/discovery', BY_METRICS_KEY);
  t.deepEqual(
    [away.status, away.body?.error?.code, away.headers.get('retry-after')],
    [503, 'service_unavailable', '1'],
  );

  for (before of [1, 2, 1_000])
    await t.throwsAsync(
      async () => (await fetch(`${url}/api/v1/nodes/metrics/host/discovery`, BY_METRICS_KEY)).text(),
      undefined,
      `after ${before} pages`,
    );
});

test('a client that reads slowly holds up the pages, and one that goes away ends them', async (t) => {
  let [taken, ended] = [0, false];
  const piece = NODES.map(written).join('').repeat(400);
  const discovery = {
    async *pieces() {
      try {
        for (; taken < 1_000; taken += 1) yield piece;
      } finally {
        ended = true;
      }
    },
  };
  const { url } = await serveApi(t, { ports: { discovery } });
  const sent = httpRequest(`${url}/api/v1/nodes/metrics/host/discovery`, BY_METRICS_KEY, (response) =>
    response.pause(),
  );
  sent.on('error', () => {});
  sent.end();
  let seen = -1;
  await until('it stands still', () => {
    const stands = seen === taken && taken > 0;
    seen = taken;
    return stands;
  });
  t.true(taken < 100, `${taken} pages`);

  sent.destroy();

  await until('the end of the pages', () => ended);
});

test('a client that is gone before the first page ends the pages too', async (t) => {
  const [first, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let ended = false;
  const discovery = {
    async *pieces() {
      try {
        asked.resolve();
        await first.promise;
        yield '{}';
        yield '{}';
      } finally {
        ended = true;
      }
    },
  };
  const { url, api } = await serveApi(t, { ports: { discovery } });
  const closed = new Promise<void>((resolve) => {
    api.server.once('connection', (socket) => socket.once('close', () => resolve()));
  });
  const sent = httpRequest(`${url}/api/v1/nodes/metrics/host/discovery`, BY_METRICS_KEY);
  sent.on('error', () => {});
  sent.end();
  await asked.promise;

  sent.destroy();
  await closed;
  first.resolve();

  await until('the end of the pages', () => ended);
  t.pass();
});
