import { statSync, writeFileSync } from 'node:fs';
import { TRPCClientError } from '@trpc/client';
import test from 'ava';
import { connectionFrom, DEFAULT_URL, storeConnection } from '../../../cli/connection.ts';
import { durationMs } from '../../../cli/duration.ts';
import { groupedText, prefixedText } from '../../../cli/grouping.ts';
import { labelsOf } from '../../../cli/node-names.ts';
import { recordText, rowsText } from '../../../cli/table.ts';
import { EXIT, Problem, problemOf } from '../../../cli/problem.ts';
import { createProgress, progressText } from '../../../cli/progress.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SUMMARY = {
  total: 10,
  pending: 2,
  sent: 3,
  completed: 4,
  succeeded: 3,
  failed: 1,
  cancelled: 1,
  expired: 0,
  dropped: 0,
};

test('nodes that said exactly the same stand together, the largest group first', (t) => {
  const text = groupedText([
    { label: 'b', output: 'x\n' },
    { label: 'c', output: 'y' },
    { label: 'a', output: 'x\n' },
    { label: 'd', output: '' },
  ]);

  t.is(
    text,
    [
      '---------------',
      'a,b (2)',
      '---------------',
      'x',
      '---------------',
      'c',
      '---------------',
      'y',
      '---------------',
      'd',
      '---------------',
      '',
    ].join('\n'),
  );
});

test('every line of an output is prefixed with its node, empty ones too', (t) => {
  t.is(prefixedText({ label: 'n', output: 'a\n\nb' }), 'n: a\nn: \nn: b\n');
  t.is(prefixedText({ label: 'n', output: '' }), '');
});

test('durations are read with their unit, seconds without, and refused otherwise', (t) => {
  t.deepEqual(
    ['500ms', '30s', '5m', '2h', '1d', '1.5s', '7'].map((text) => durationMs(text, '--x')),
    [500, 30_000, 300_000, 7_200_000, 86_400_000, 1_500, 7_000],
  );
  for (const text of ['', 's', '-1s', '0', '1w', 'NaN', '1e9', '0.1ms'])
    t.is(t.throws(() => durationMs(text, '--x'), { instanceOf: Problem })?.status, EXIT.usage, text);
});

test('a node is called by its alias, unless another has the same', (t) => {
  const node = (id: string, ...aliases: string[]) => ({
    id,
    aliases: aliases.map((name) => ({ id: name, name, vpn_hostname: '' })),
  });

  t.deepEqual(
    [...labelsOf([node('1', 'web'), node('2', 'db'), node('3', 'web'), node('4')])],
    [
      ['1', '1'],
      ['2', 'db'],
      ['3', '3'],
      ['4', '4'],
    ],
  );
});

test('columns of a table stand below each other whatever is written in them', (t) => {
  const names = ['plain', 'café', 'cafe\u0301', '日本語', '한국', 'ｱｲｳ', '👍🏽', '👨‍👩‍👧', '🇩🇪', '…'];

  t.is(
    rowsText(
      names.map((name) => ({ name, status: 'ok' })),
      [
        ['NAME', 'name'],
        ['STATUS', 'status'],
      ],
      'table',
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

test('a table keeps control characters of remote machines off the terminal', (t) => {
  t.is(
    rowsText(
      [{ a: 'x\u001b[31m\ny', b: null }],
      [
        ['A', ({ a }) => a],
        ['B', ({ b }) => b],
      ],
      'table',
    ),
    'A          B\nx [31m y   -\n'.replace('y   ', 'y  ').replace('A          B', 'A         B'),
  );
  t.is(recordText({ a: 1, list: [1] }, 'table'), 'a     1\nlist  [1]\n');
  t.is(recordText({ a: 1 }, 'ndjson'), '{"a":1}\n');
  t.is(rowsText([], [['A', () => 1]], 'json'), '[]\n');
});

test('the progress line says what is done, failed, running and waiting', (t) => {
  t.is(progressText(SUMMARY, 3_400), '5/10 done, 1 failed, 1 not finished, 3 running, 2 waiting, 3 s');
});

test('the progress line is only for terminals', (t) => {
  const written: string[] = [];
  const show = (isTTY: boolean) =>
    createProgress({ isTTY, write: (text: string) => written.push(text) }, () => 0).show(SUMMARY);

  show(false);
  t.deepEqual(written, []);
  show(true);
  t.is(written.length, 1);
});

test('flags go before the environment, and that before what was remembered', (t) => {
  const directory = temporaryDirectory(t);
  const env = { XDG_CONFIG_HOME: directory };

  t.deepEqual(connectionFrom({}, env), { url: DEFAULT_URL, key: null });
  const file = storeConnection({ url: 'http://stored', key: 'stored' }, env);
  t.is(statSync(file).mode & 0o777, 0o600);
  t.deepEqual(connectionFrom({}, env), { url: 'http://stored', key: 'stored' });
  t.deepEqual(connectionFrom({}, { ...env, EDGE_URL: 'http://env/', EDGE_API_KEY: 'env' }), {
    url: 'http://env',
    key: 'env',
  });
  t.deepEqual(
    connectionFrom({ url: 'http://flag', key: 'flag' }, { ...env, EDGE_URL: 'http://env', EDGE_API_KEY: 'env' }),
    { url: 'http://flag', key: 'flag' },
  );
  writeFileSync(file, '{');
  t.throws(() => connectionFrom({}, env), { message: /damaged/u });
});

test('each failure is one line that says what to do, with its exit status', (t) => {
  const refused = (code: string, details: object | null = null) =>
    problemOf(
      TRPCClientError.from({ error: { message: 'Said so', code: -32_000, data: { code, details } } }),
      'http://x',
    );
  const unreachable = TRPCClientError.from(
    new TypeError('fetch failed', { cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }) }),
  );

  t.deepEqual(
    ['unauthorized', 'forbidden', 'not_found', 'conflict', 'internal_error'].map((code) => refused(code).status),
    [EXIT.auth, EXIT.auth, EXIT.notFound, EXIT.failed, EXIT.failed],
  );
  t.is(
    refused('validation_failed', { timeout: ['must be at least 1'] }).message,
    'Said so: timeout must be at least 1',
  );
  t.regex(problemOf(unreachable, 'http://x').message, /^cannot reach http:\/\/x \(ECONNREFUSED\): check/u);
  t.false(problemOf(new Error('a\nb'), '').message.includes('\n'));
});
