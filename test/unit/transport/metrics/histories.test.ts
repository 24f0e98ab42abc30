/** A node may answer with anything when it is asked what it measured: that is a history within bounds, or refused. */
import type { Socket } from 'node:net';
import test from 'ava';
import {
  HISTORY_BYTES_MAX,
  HISTORY_MEASURES,
  HISTORY_MS_MAX,
  HISTORY_POINTS_MAX,
  type MetricsHistory,
} from '../../../../transport/protocol/metrics-history.ts';
import { createHistories, readHistory } from '../../../../transport/metrics/histories.ts';
import { NODE } from '../../../support/net/tunnels-fixture.ts';
import { answer, scrapeFixture } from './fixture.ts';

const RIGHT: MetricsHistory = {
  interval_ms: 15_000,
  ages_ms: [30_000, 15_000, 0],
  cpu_percent: [null, 12.345, 100],
  load_percent: [0, 25, 250],
  memory_percent: [50, 50, 50],
  disk_percent: [null, null, null],
  received_bytes_per_second: [null, 0, 1_000],
  sent_bytes_per_second: [null, 0, 10],
  agent_bytes: [80_000_000, 80_000_000, 80_000_000],
};

const read = (history: unknown) => readHistory(Buffer.from(JSON.stringify(history)));
const many = <T>(count: number, value: (place: number) => T): T[] =>
  Array.from({ length: count }, (_, place) => value(place));

/** As long as can be, and of the longest numbers. */
const longest = (points: number) => ({
  interval_ms: 5_000,
  ages_ms: many(points, (place) => HISTORY_MS_MAX - place),
  ...Object.fromEntries(HISTORY_MEASURES.map((measure) => [measure, many(points, () => 1)])),
});

test('a history is taken as it is, with two digits, and without what nobody asked for', (t) => {
  t.deepEqual(read({ ...RIGHT, later_percent: [1, 2, 3], __proto__: { a: 1 } }), {
    ok: true,
    value: { ...RIGHT, cpu_percent: [null, 12.35, 100] },
  });
  t.true(
    read({ ...RIGHT, ages_ms: [], ...Object.fromEntries(HISTORY_MEASURES.map((one) => [one, []])) }).ok,
    'none yet',
  );
  t.true(read(longest(HISTORY_POINTS_MAX)).ok);
});

const { agent_bytes: _gone, ...WITHOUT } = RIGHT;

/** What is wrong with it, and the text. */
const LIES: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['no JSON', '{'],
  ['no text', '"\u00ff"'],
  ['no object', '[]'],
  ['a number that is none', JSON.stringify(RIGHT).replace('12.345', 'NaN')],
  ['a number without an end', JSON.stringify(RIGHT).replace('12.345', '1e999')],
  ['a number as text', JSON.stringify(RIGHT).replace('12.345', '"12"')],
  ...(
    [
      ['a list too few', WITHOUT],
      ['a list that is shorter', { ...RIGHT, cpu_percent: [1, 2] }],
      ['a list that is longer', { ...RIGHT, cpu_percent: [1, 2, 3, 4] }],
      ['more than all', { ...RIGHT, cpu_percent: [null, 100.01, 1] }],
      ['less than nothing', { ...RIGHT, memory_percent: [1, -1, 1] }],
      ['a load beyond reason', { ...RIGHT, load_percent: [1, 1e7, 1] }],
      ['a rate beyond reason', { ...RIGHT, sent_bytes_per_second: [1, 1e13, 1] }],
      ['half a byte', { ...RIGHT, agent_bytes: [1, 1.5, 1] }],
      ['more bytes than are counted', { ...RIGHT, agent_bytes: [1, 2 ** 53, 1] }],
      ['what is still to come', { ...RIGHT, ages_ms: [15_000, 0, -15_000] }],
      ['the newest first', { ...RIGHT, ages_ms: [0, 15_000, 30_000] }],
      ['the same time twice', { ...RIGHT, ages_ms: [15_000, 15_000, 0] }],
      ['an age that nobody knows', { ...RIGHT, ages_ms: [null, 15_000, 0] }],
      ['what is long past', { ...RIGHT, ages_ms: [HISTORY_MS_MAX + 1, 15_000, 0] }],
      ['no time between points', { ...RIGHT, interval_ms: 0 }],
      ['points without a measure', { ...RIGHT, disk_percent: 'disk' }],
      ['too many points', longest(HISTORY_POINTS_MAX + 1)],
    ] as const
  ).map(([what, value]): [string, string] => [what, JSON.stringify(value)]),
];

for (const [what, text] of LIES) {
  test(`${what} is no history`, (t) => {
    t.deepEqual(readHistory(Buffer.from(text, 'latin1')), {
      ok: false,
      refusal: {
        code: 'service_unavailable',
        message: 'The node answered with something that is no history of its metrics.',
      },
    });
  });
}

/** What a node says to whoever asks for it, and what becomes of that. */
const SERVED: readonly (readonly [string, Buffer, object])[] = [
  [
    'answers',
    answer(JSON.stringify(RIGHT), { 'Content-Type': 'application/json' }),
    { ok: true, value: { interval_ms: 15_000, ages_ms: RIGHT.ages_ms } },
  ],
  [
    'is of a release before',
    answer('There is nothing here.', {}, '404 Not Found'),
    { refusal: { code: 'conflict', message: 'The agent of this node is too old to keep a history: update it.' } },
  ],
  [
    'has another program at its port',
    answer('no', {}, '403 Forbidden'),
    { refusal: { code: 'service_unavailable', message: 'The node answered with status 403.' } },
  ],
  [
    'answers with too much',
    answer(' '.repeat(HISTORY_BYTES_MAX + 1)),
    {
      refusal: { code: 'service_unavailable', message: `The node answered with more than ${HISTORY_BYTES_MAX} bytes.` },
    },
  ],
];

for (const [what, said, becomes] of SERVED) {
  test(`a node that ${what} is told of as that`, async (t) => {
    const serve = (socket: Socket): void => void socket.once('data', () => socket.end(said));
    const { requests } = await scrapeFixture(t, serve);

    t.like(await createHistories({ requests, msMax: 60_000 }).get(NODE), becomes);
  });
}
