/** Tables: what fits a terminal and how, ages, short ids, and the order of rows. */
import test from 'ava';
import { ageText, durationText } from '../../../cli/table/ages.ts';
import type { Table } from '../../../cli/table/columns.ts';
import { cutTo } from '../../../cli/table/layout.ts';
import { orderOf, sorted } from '../../../cli/table/order.ts';
import { shortId, shortIds } from '../../../cli/table/short-ids.ts';
import { plainView, recordText, rowsText, type View } from '../../../cli/table/text.ts';
import { EXIT, Problem } from '../../../cli/problem.ts';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly node: string;
  readonly at: string | null;
  readonly why: string | null;
}

const IDS = ['019a2c4e-0000-7000-8000-000000000001', '019a2c4e-0001-7000-8000-000000000001'] as const;
const NOW_MS = Date.parse('2026-01-02T00:00:00.000Z');

const TABLE: Table<Row> = {
  id: ({ id }) => id,
  sortedBy: 'name',
  columns: [
    ['ID', 'id', { id: true, drop: 3 }],
    ['NAME', 'name', { cut: 6, tone: ({ why }) => (why === null ? 'good' : 'bad') }],
    ['NODE', 'node', { node: true, drop: 2 }],
    ['SINCE', 'at', { age: true }],
    ['WHY', 'why', { cut: 8, drop: 1 }],
    ['MORE', ({ name }) => name.length, { wide: true }],
  ],
};

const ROWS: readonly Row[] = [
  { id: IDS[0], name: 'a-long-name-10', node: 'n1', at: '2026-01-01T23:55:00.000Z', why: 'the disk is full' },
  { id: IDS[1], name: 'a-long-name-9', node: 'n2', at: null, why: null },
];

const view = (more: Partial<View> = {}): View => ({
  ...plainView('table'),
  nowMs: NOW_MS,
  nodeName: (id) => `node ${id}`,
  ...more,
});

test('what is no terminal gets every column whole: ids short, instants as ages, nodes by their names', (t) => {
  t.is(
    rowsText(ROWS, TABLE, view()),
    [
      'ID             NAME            NODE     SINCE  WHY',
      '019a2c4e-0000  a-long-name-10  node n1  5m     the disk is full',
      '019a2c4e-0001  a-long-name-9   node n2  -      -',
      '',
    ].join('\n'),
  );
});

test('wide has every column and whole ids, and is never cut', (t) => {
  t.is(
    rowsText(ROWS, TABLE, view({ format: 'wide', width: 20 })),
    [
      'ID                                    NAME            NODE     SINCE  WHY               MORE',
      `${IDS[0]}  a-long-name-10  node n1  5m     the disk is full  14`,
      `${IDS[1]}  a-long-name-9   node n2  -      -                 13`,
      '',
    ].join('\n'),
  );
});

test('a terminal gets no line that is longer than itself: cells are cut, from the last column on, then columns go', (t) => {
  const lines = (width: number) => rowsText(ROWS, TABLE, view({ width })).trimEnd().split('\n');

  t.deepEqual(lines(60), [
    'ID             NAME            NODE     SINCE  WHY',
    '019a2c4e-0000  a-long-name-10  node n1  5m     the disk is…',
    '019a2c4e-0001  a-long-name-9   node n2  -      -',
  ]);
  t.deepEqual(lines(50), [
    'ID             NAME       NODE     SINCE  WHY',
    '019a2c4e-0000  a-long-n…  node n1  5m     the dis…',
    '019a2c4e-0001  a-long-n…  node n2  -      -',
  ]);
  t.deepEqual(lines(40), [
    'NAME            NODE     SINCE  WHY',
    'a-long-name-10  node n1  5m     the dis…',
    'a-long-name-9   node n2  -      -',
  ]);
  t.deepEqual(lines(24), ['NAME     SINCE  WHY', 'a-long…  5m     the dis…', 'a-long…  -      -']);
  t.deepEqual(lines(20), ['NAME           SINCE', 'a-long-name-…  5m', 'a-long-name-9  -']);
  t.deepEqual(lines(13), ['NAME    SINCE', 'a-lon…  5m', 'a-lon…  -']);
  for (let width = 1; width < 80; width += 1)
    for (const line of lines(width)) t.true(line.length <= width, `${width}: ${line}`);
});

test('colours are put around cells and change no width', (t) => {
  t.is(
    rowsText(ROWS, { ...TABLE, columns: TABLE.columns.slice(1, 2) }, view({ isColoured: true, width: 9 })),
    'NAME\n\u001B[31ma-long-n…\u001B[0m\n\u001B[32ma-long-n…\u001B[0m\n',
  );
});

test('ids alone are whole, a line each, of lists and of single things', (t) => {
  t.is(rowsText(ROWS, TABLE, view({ format: 'id' })), `${IDS[0]}\n${IDS[1]}\n`);
  t.is(recordText({ id: IDS[0], name: 'x' }, 'id'), `${IDS[0]}\n`);
  t.is(recordText({ type: 'edge.core.test', description: '' }, 'id'), 'edge.core.test\n');
});

test('columns of a table stand below each other whatever is written in them', (t) => {
  const names = ['plain', 'café', 'cafe\u0301', '日本語', '한국', 'ｱｲｳ', '👍🏽', '👨‍👩‍👧', '🇩🇪', '…'];
  const table: Table<{ readonly name: string; readonly status: string }> = {
    id: ({ name }) => name,
    columns: [
      ['NAME', 'name'],
      ['STATUS', 'status'],
    ],
  };

  t.is(
    rowsText(
      names.map((name) => ({ name, status: 'ok' })),
      table,
      view(),
    ),
    [
      'NAME    STATUS',
      'plain   ok',
      'café    ok',
      'cafe\u0301    ok',
      '日本語  ok',
      '한국    ok',
      'ｱｲｳ     ok',
      '👍🏽      ok',
      '👨‍👩‍👧      ok',
      '🇩🇪      ok',
      '…       ok',
      '',
    ].join('\n'),
  );
});

test('what is cut ends with an ellipsis and is never cut within a character', (t) => {
  t.deepEqual(
    [cutTo('abc', 3), cutTo('abcd', 3), cutTo('日本語', 5), cutTo('👨‍👩‍👧👨‍👩‍👧', 3), cutTo('ab cd', 4), cutTo('ab', 1)],
    ['abc', 'ab…', '日本…', '👨‍👩‍👧…', 'ab…', '…'],
  );
});

test('a table keeps control characters of remote machines off the terminal', (t) => {
  const table: Table<{ readonly a: string; readonly b: null }> = {
    id: ({ a }) => a,
    columns: [
      ['A', 'a'],
      ['B', 'b'],
    ],
  };

  t.is(rowsText([{ a: 'x\u001b[31m\ny', b: null }], table, view()), 'A         B\nx [31m y  -\n');
  t.is(rowsText([{ a: 'x\u001b[31m\ny', b: null }], table, view({ format: 'id' })), 'x [31m y\n');
  t.is(recordText({ a: 1, list: [1] }, 'table'), 'a     1\nlist  [1]\n');
  t.is(recordText({ a: 1 }, 'ndjson'), '{"a":1}\n');
  t.is(rowsText([], table, view({ format: 'json' })), '[]\n');
});

test('ages are said in the largest unit of which there are two', (t) => {
  t.deepEqual(
    [0, 1_999, 119_000, 120_000, 7_199_000, 7_200_000, 172_799_000, 172_800_000, 63_071_999_000, 63_072_000_000].map(
      durationText,
    ),
    ['0s', '1s', '119s', '2m', '119m', '2h', '47h', '2d', '729d', '2y'],
  );
  const at = (ms: number) => ageText(new Date(NOW_MS + ms).toISOString(), NOW_MS);
  t.deepEqual(
    [at(-5_000), at(500), at(5_000), ageText(null, NOW_MS), ageText('soon', NOW_MS)],
    ['5s', '0s', 'in 5s', null, 'soon'],
  );
});

test('a reason tells what has passed since an instant, which would be cut', (t) => {
  const at = '2026-01-15T10:00:00.000Z';
  const table: Table<{ readonly why: string }> = { id: ({ why }) => why, columns: [['WHY', 'why', { told: true }]] };
  const told = (why: string, laterMs: number) =>
    rowsText([{ why }], table, view({ nowMs: Date.parse(at) + laterMs })).split('\n')[1];

  t.is(told(`Nothing heard since ${at}`, 130_000), 'Nothing heard for 2m');
  t.is(told(`Connected since ${at}; disk: 0 MiB are free`, -5_000), 'Connected for 0s; disk: 0 MiB are free');
  t.is(told('disk: full since Monday', 0), 'disk: full since Monday');
  t.is(rowsText([{ why: at }], table, view({ format: 'ndjson' })), `{"why":"${at}"}\n`);
});

test('ids that stand together are as short as they are told apart, alone long enough for the time in them', (t) => {
  t.deepEqual(IDS.map(shortIds(IDS)), ['019a2c4e-0000', '019a2c4e-0001']);
  t.deepEqual(IDS.map(shortIds([IDS[0]])), ['019a2c4e', '019a2c4e']);
  t.is(shortIds(['no id'])('no id'), 'no id');
  t.deepEqual(
    [shortId(IDS[0]), shortId('6f9619ff-8b86-4011-b42d-00c04fc964ff'), shortId('prod')],
    ['019a2c4e-0000', '6f9619ff', 'prod'],
  );
});

test('rows are sorted by any column, either way, numbers in names as such, ids behind names, what has no value last', (t) => {
  const by = (text: string) => sorted(ROWS, orderOf(TABLE, text), (id) => id).map(({ name }) => name);

  t.deepEqual(by('name'), ['a-long-name-9', 'a-long-name-10']);
  t.deepEqual(by('-name'), ['a-long-name-10', 'a-long-name-9']);
  t.deepEqual([by('why'), by('-why')], [by('-name'), by('-name')]);
  t.deepEqual(by('-MORE'), by('-name'));
  const called = ['4d92e77e', 'web-10', '332fa3a6', 'web-9', '100'].map((name) => ({
    id: name,
    name,
    node: 'n',
    at: null,
    why: null,
  }));
  t.deepEqual(
    sorted(called, orderOf(TABLE, 'name'), (id) => id).map(({ name }) => name),
    ['100', 'web-9', 'web-10', '332fa3a6', '4d92e77e'],
  );
  const problem = t.throws(() => orderOf(TABLE, 'size'), { instanceOf: Problem });
  t.deepEqual(
    [problem?.status, problem?.message],
    [
      EXIT.usage,
      '--sort is "size": it should be one of id, name, node, since, why, more, with - before it for descending',
    ],
  );
});
