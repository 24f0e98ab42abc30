import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TRPCClientError } from '@trpc/client';
import test from 'ava';
import { NOT_KNOWN } from '../../../actors/refusal.ts';
import { connectionFrom, DEFAULT_URL } from '../../../cli/service/connection.ts';
import { storeConnection } from '../../../cli/service/contexts.ts';
import { differenceText } from '../../../cli/output/differences.ts';
import { durationMs } from '../../../cli/duration.ts';
import { groupedText, prefixedText } from '../../../cli/output/grouping.ts';
import { labelsOf } from '../../../cli/names/node-names.ts';
import { EXIT, Problem, problemOf } from '../../../cli/problem.ts';
import { createProgress, endText, progressText } from '../../../cli/run/progress.ts';
import { scriptOf } from '../../../cli/run/script.ts';
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

test('a node is called by its name, or by as much of its id as tells it apart where another has the same', (t) => {
  const node = (id: string, name: string) => ({ id, name });
  const ids = [
    '0a000000-0000-4000-8000-000000000001',
    '0b000000-0000-4000-8000-000000000002',
    '0c000000-0000-4000-8000-000000000003',
    '0d000000-0000-4000-8000-000000000004',
  ] as const;

  t.deepEqual(
    [...labelsOf([node(ids[0], 'web'), node(ids[1], 'db'), node(ids[2], 'web'), node(ids[3], '0d000000')])],
    [
      [ids[0], '0a000000'],
      [ids[1], 'db'],
      [ids[2], '0c000000'],
      [ids[3], '0d000000'],
    ],
  );
});

test('what was remembered is written beside what is there, which a failure leaves as it is', (t) => {
  const directory = temporaryDirectory(t);
  const env = { XDG_CONFIG_HOME: directory };
  const file = storeConnection({ url: 'http://first' }, env);
  linkSync(file, join(directory, 'first'));
  storeConnection({ url: 'http://second' }, env);

  t.regex(readFileSync(join(directory, 'first'), 'utf8'), /http:\/\/first/u);
  t.regex(readFileSync(file, 'utf8'), /http:\/\/second/u);
  t.deepEqual(readdirSync(join(directory, 'edge')), ['config.json']);
});

test('outputs that differ are told apart, also where a terminal would not show it', (t) => {
  const outputs = ['\u001b[31mx\n', '\u001b[31mx\n', 'x\n', 'y\n'].map((output, index) => ({
    label: `${index}`,
    output,
  }));
  const rule = '-'.repeat(15);

  t.is(
    differenceText(outputs, { isPlain: true, isColoured: false }),
    `${rule}\n0,1 (2)\n${rule}\nx\n${rule}\n2\n${rule}\n(only what a terminal does not show differs)\n${rule}\n3\n${rule}\n+y\n-x\n`,
  );
});

test('a script of another interpreter leaves nothing behind when it is ended', async (t) => {
  const [directory, left] = [temporaryDirectory(t), temporaryDirectory(t)];
  const file = join(directory, 'script');
  writeFileSync(file, '#!/usr/bin/env sh\necho begun\nsleep 600\n');
  const text = await scriptOf({ words: [], file, env: ['A=1'], takesStdin: false });
  const running = spawn('/bin/sh', ['-c', text], { detached: true, env: { ...process.env, TMPDIR: left } });
  await once(running.stdout, 'data');
  t.is(readdirSync(left).length, 1);
  process.kill(-(running.pid ?? 0), 'SIGTERM');
  await once(running, 'close');

  t.deepEqual(readdirSync(left), []);
});

test('a script keeps the options of its shell behind the variables that it is given', async (t) => {
  const file = join(temporaryDirectory(t), 'script');
  const script = '#! /bin/sh -eu\nfalse\necho on\n';
  writeFileSync(file, script);
  const made = (env: readonly string[]) => scriptOf({ words: [], file, env, takesStdin: false });

  t.is(await made([]), script);
  t.is(await made(['A=1']), `#!/bin/sh -eu\nexport A='1'\n${script}`);
});

test('the progress line says what is done, failed, running and waiting', (t) => {
  t.is(progressText(SUMMARY, 3_400), '5/10 done, 1 failed, 1 not finished, 3 running, 2 waiting, 3 s');
});

test('the last line of a run counts those that were deleted: how they ended nobody knows', (t) => {
  const ended = { ...SUMMARY, pending: 0, sent: 0, total: 5 };

  t.is(endText(ended, 3_400), '3 of 5 succeeded, 1 failed, 1 cancelled, 3.4 s');
  t.is(endText({ ...ended, total: 7 }, 3_400), '3 of 7 succeeded, 1 failed, 1 cancelled, 2 no longer known, 3.4 s');
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

const ASKED = { url: 'http://x', key: 'k' };

test('each failure is one line that says what to do, with its exit status', (t) => {
  const refused = (code: string, details: object | null = null, message = 'Said so') =>
    problemOf(TRPCClientError.from({ error: { message, code: -32_000, data: { code, details } } }), ASKED);
  const unreachable = TRPCClientError.from(
    new TypeError('fetch failed', { cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }) }),
  );

  t.deepEqual(
    ['unauthorized', 'forbidden', 'not_found', 'conflict', 'internal_error'].map((code) => refused(code).status),
    [EXIT.auth, EXIT.auth, EXIT.notFound, EXIT.failed, EXIT.failed],
  );
  t.is(refused('validation_failed', { timeout: ['must be at least 1'] }).message, 'timeout must be at least 1');
  t.is(
    refused('bad_request', { 'status__in.0': ['must be one of a, b'], 'public_keys.1.public_key': ['is none'] })
      .message,
    'status must be one of a, b; public key number 2 is none',
  );
  t.is(refused('service_unavailable').message, 'Said so Try again shortly.');
  t.is(refused('service_unavailable', null, `${NOT_KNOWN}.`).message, `${NOT_KNOWN}. Look before you ask again.`);
  t.regex(refused('unauthorized').message, /^http:\/\/x does not accept this key: /u);
  t.regex(
    problemOf(TRPCClientError.from({ error: { message: 'No', code: -32_000, data: { code: 'unauthorized' } } }), {
      url: 'http://x',
      key: null,
    }).message,
    /^no key was given, and http:\/\/x wants one: /u,
  );
  t.regex(problemOf(unreachable, ASKED).message, /^cannot reach http:\/\/x \(ECONNREFUSED\): check/u);
  t.false(problemOf(new Error('a\nb'), ASKED).message.includes('\n'));
});
