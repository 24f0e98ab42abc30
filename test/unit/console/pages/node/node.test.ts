/** What is pure of the page of one node. */
import test from 'ava';
import { afterNews, type Watched } from '../../../../../console/pages/node/known.ts';
import {
  countersOf,
  GAP_S,
  MEASURES,
  pointOf,
  POINTS_MAX,
  summaryOf,
  withPoint,
  type Point,
} from '../../../../../console/pages/node/measured.ts';
import { lineOf, pastOf, withPast } from '../../../../../console/pages/node/past.ts';
import { edgeName, linesOf } from '../../../../../console/pages/node/lines.ts';
import { happened, HISTORY_TYPES, rowsOf, stretchesOf } from '../../../../../console/pages/node/happened.ts';
import { bytesOf, durationOf } from '../../../../../console/quantities.ts';
import { LOGIN_EVENT_TYPE, NODE_EVENT_TYPES } from '../../../../../actors/events.ts';
import type { NodeResource } from '../../../../../actors/resources/node.ts';

const NODE = {
  id: '01a1ff65-7894-4000-bf76-5935ab65cdb4',
  cluster_name: 'prod',
  vpn_hostname: 'node-01a1ff65-7894-4000-bf76-5935ab65cdb4.prod.edge.internal',
  aliases: [{ id: '01a1ff65-7894-4000-bf76-5935ab65cdb5', name: 'web-1', vpn_hostname: 'web-1.prod.edge.internal' }],
} as unknown as NodeResource;
const NOW = '2026-11-23T12:00:00.000Z';

test('a node that goes is shown as it was, and one that never was is missing', (t) => {
  const there: Watched = { kind: 'there', node: NODE };

  t.deepEqual(afterNews({ kind: 'loading' }, undefined, false, NOW), { kind: 'loading' }, 'the snapshot still comes');
  t.deepEqual(afterNews({ kind: 'loading' }, undefined, true, NOW), { kind: 'missing' });
  t.deepEqual(afterNews({ kind: 'loading' }, NODE, true, NOW), there);
  t.is(afterNews(there, NODE, true, NOW), there, 'nothing is drawn anew');
  t.deepEqual(afterNews(there, undefined, false, NOW), there, 'known from elsewhere until the feed has told');
  const deleted = afterNews(there, undefined, true, NOW);
  t.deepEqual(deleted, { kind: 'deleted', node: NODE, at: NOW });
  t.is(afterNews(deleted, undefined, true, 'later'), deleted);
});

test('lines name a node by its alias and cluster, else by its id', (t) => {
  t.is(edgeName(NODE), 'web-1.prod');
  t.is(edgeName({ ...NODE, aliases: [] }), NODE.id);

  const lines = Object.fromEntries(
    linesOf(NODE, 'https://edge.example:8443', 'deploy').map(({ name, text }) => [name, text]),
  );

  t.is(lines['ssh'], 'edge ssh deploy@web-1.prod');
  t.is(
    lines['metrics'],
    `curl -H "Authorization: Bearer $METRICS_KEY" https://edge.example:8443/api/v1/nodes/${NODE.id}/metrics/host/raw`,
  );
  t.is(
    lines['prometheus'],
    `- job_name: edge-host
  scheme: https
  metrics_path: /api/v1/nodes/${NODE.id}/metrics/host/raw
  authorization: { credentials_file: metrics-key }
  static_configs: [{ targets: ['edge.example:8443'] }]`,
  );
});

test('sizes and durations are said in units that fit', (t) => {
  t.deepEqual([0, 1_023, 1_024, 8_124_899_328, 1e18].map(bytesOf), ['0 B', '1023 B', '1.0 KiB', '7.6 GiB', '888 PiB']);
  t.deepEqual([0, 59.9, 61, 3_600, 90_061].map(durationOf), ['0 s', '59 s', '1 min 1 s', '1 h', '1 d 1 h']);
});

test('the status of a day is known from its changes, and not before the oldest where there are more', (t) => {
  const change = (hour: number, before: string) => ({
    time: `2026-11-23T${String(hour).padStart(2, '0')}:00:00.000Z`,
    data: { previous_status: before },
  });
  const at = (hour: number) => Date.UTC(2026, 10, 23, hour);
  const data = [change(10, 'unreachable'), change(10, 'unreachable'), change(8, 'healthy')];

  const both = [
    { status: 'unreachable', fromMs: at(8), toMs: at(10) },
    { status: 'healthy', fromMs: at(10), toMs: at(12) },
  ];
  t.deepEqual(stretchesOf({ data, isWhole: false }, 'healthy', at(0), at(12)), both as never);
  t.deepEqual(stretchesOf({ data, isWhole: true }, 'healthy', at(0), at(12)), [
    { status: 'healthy', fromMs: at(0), toMs: at(8) },
    ...both,
  ] as never);
  t.deepEqual(stretchesOf({ data, isWhole: true }, 'healthy', at(9), at(12))[0]?.fromMs, at(9), 'cut at the beginning');
  t.deepEqual(stretchesOf({ data: [], isWhole: true }, 'healthy', at(0), at(12)), [
    { status: 'healthy', fromMs: at(0), toMs: at(12) },
  ]);
});

test('a count of events that was bounded says so', (t) => {
  t.is(rowsOf({ page: 1, page_size: 10, total_count: 1_000 }), '1 to 10 of 1,000 or more');
  t.is(rowsOf({ page: 100, page_size: 10, total_count: 999 }), '991 to 999 of 999');
  t.is(rowsOf({ page: 41, page_size: 25, total_count: 1_026 }), '1,001 to 1,025 of 1,026 or more');
});

test('an event of a node is one sentence', (t) => {
  t.is(
    happened({ type: 'edge.node.status_changed', data: { previous_status: 'healthy', status: 'unreachable' } }),
    'went from healthy to unreachable',
  );
  t.is(happened({ type: 'edge.node.version_changed', data: {} }), 'agent changed from ? to ?');
  const login = (data: Readonly<Record<string, string>>): string =>
    happened({ type: LOGIN_EVENT_TYPE, data: { username: 'ops', ...data } });
  t.deepEqual(
    [
      login({ result: 'success', auth_method: 'public_key' }),
      login({ result: 'success', auth_method: 'password' }),
      login({ result: 'failure', auth_method: 'unknown' }),
    ],
    ['ops logged in by SSH with a key', 'ops logged in by SSH with a password', 'a login by SSH as ops was refused'],
  );
});

test('the history of a node has all that happens to it, each as a sentence, and logins stand apart', (t) => {
  t.deepEqual([...HISTORY_TYPES, LOGIN_EVENT_TYPE].toSorted(), NODE_EVENT_TYPES.toSorted());
  for (const type of NODE_EVENT_TYPES) t.not(happened({ type, data: {} }), type);
});

test('rates are what counters rose by, and unknown where they began anew or were not told', (t) => {
  const text = (idle: number, received: number) => `# HELP node_cpu_seconds_total x
node_cpu_seconds_total{cpu="0",mode="idle"} ${idle}
node_cpu_seconds_total{cpu="0",mode="user"} 10
node_network_receive_bytes_total{device="lo"} 999999
node_network_receive_bytes_total{device="eth0"} ${received}
`;
  const metrics = {
    host: {
      available: true,
      cpu: { cores: 2, load_1m: 1, load_5m: 0, load_15m: 0 },
      memory: null,
      disk: null,
      uptime: null,
    },
    agent: { application: null },
  } as unknown as Parameters<typeof pointOf>[0];
  const first = countersOf(text(100, 5_000), 10);

  const point = pointOf(metrics, first, countersOf(text(105, 6_000), 15));

  t.like(point, { at: 15, cpu: 0, load: 50, memory: null, received: 200, sent: null, agent: null });
  t.like(pointOf(metrics, null, first), { cpu: null, received: null });
  t.like(pointOf(metrics, first, countersOf(text(1, 1), 15)), { cpu: null, received: null });
  t.like(pointOf(metrics, first, countersOf('', 15)), { cpu: null, received: null });
});

const point = (at: number, cpu: number | null, memory: number | null = null): Point => ({
  ...(Object.fromEntries(MEASURES.map((measure) => [measure, null])) as Omit<Point, 'at'>),
  at,
  cpu,
  memory,
});
const drawn = (points: readonly Point[]) => points.map(({ at, cpu }) => [at, cpu]);

test('points are kept for an hour, and summed up with what was told', (t) => {
  let points: readonly Point[] = [];
  for (let at = 0; at < POINTS_MAX + 3; at += 1) points = withPoint(points, point(at, at));

  t.deepEqual([points.length, points[0]?.at], [POINTS_MAX, 3]);
  t.deepEqual(drawn(withPoint([point(0, 1), point(1, 1)], point(3_601, 2))), [
    [1, 1],
    [1_801, null],
    [3_601, 2],
  ]);
  t.deepEqual(summaryOf([point(1, 5), point(2, null)], 'cpu'), { now: null, min: 5, max: 5 });
  t.is(summaryOf([point(1, null)], 'cpu'), null);
});

test('a history is as old as its admin says, whatever time it is here and there', (t) => {
  const history = {
    timestamp: '2026-11-23T12:00:00.000Z',
    at: ['2026-11-23T11:59:30.000Z', '2026-11-23T11:59:45.500Z'],
    ...Object.fromEntries(
      ['cpu_percent', 'load_percent', 'memory_percent', 'disk_percent', 'agent_bytes'].map((name) => [name, [1, null]]),
    ),
    received_bytes_per_second: [2, 3],
    sent_bytes_per_second: [4, 5],
  } as unknown as Parameters<typeof pastOf>[0];

  t.deepEqual(pastOf(history, 1_000), [
    { at: 970, cpu: 1, load: 1, memory: 1, disk: 1, received: 2, sent: 4, agent: 1 },
    { at: 985.5, cpu: null, load: null, memory: null, disk: null, received: 3, sent: 5, agent: null },
  ]);
});

test('a history stands before what was measured here, takes the place of nothing of it, and fills what was missed', (t) => {
  const past = [15, 30, 45, 60, 75].map((at) => point(at, 1));

  const begun = withPast([point(80, null, 9), point(85, 2, 9)], past);
  t.deepEqual(drawn(begun), [...drawn(past.slice(0, 4)), [80, null], [85, 2]]);
  t.deepEqual(
    lineOf(begun, 'cpu'),
    [1, 1, 1, 1, undefined, 2],
    'the first point here has no rate: the line goes through it',
  );

  const away = [point(10, 2), point(20, 2), point(25, null), point(48, null), point(70, 2), point(75, 2)];
  t.deepEqual(drawn(withPast(away, past)), [
    [10, 2],
    [20, 2],
    [30, 1],
    [45, 1],
    [60, 1],
    [70, 2],
    [75, 2],
  ]);
  t.deepEqual(withPast(begun, past), begun, 'once is enough');
});

test('a line breaks where nothing was measured for long, and where a node did not answer', (t) => {
  const far = [point(0, 1), point(15, 1), point(15 + GAP_S + 1, 1)];
  t.deepEqual(lineOf(withPast([], far), 'cpu'), [1, 1, null, 1], 'the machine was suspended');
  t.deepEqual(lineOf(withPast(far.slice(2), far.slice(0, 2)), 'cpu'), [1, 1, null, 1], 'its agent was started again');
  t.deepEqual(lineOf([point(0, 1), point(5, null), point(10, 1)], 'cpu'), [1, null, 1]);
  t.deepEqual(lineOf([point(0, 1), point(5, null, 3), point(10, null, 3), point(15, 1)], 'cpu'), [1, null, null, 1]);
});
