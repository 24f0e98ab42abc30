/** Recordings and asciinema: what an agent records is read by it, and what it records is played here. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { spawn } from '@lydell/node-pty';
import type { ExecutionContext } from 'ava';
import { beginRecording } from '../../../agent/access/ssh/recording/recorder.ts';
import { RecordingSpool } from '../../../agent/access/ssh/recording/spool.ts';
import { readCast } from '../../../cli/recordings/cast.ts';
import { peerPath } from '../../support/run/peers.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('asciinema');

/** Runs asciinema in a directory of its own, and in a terminal, without which it does nothing. */
async function asciinema(t: Pick<ExecutionContext, 'teardown'>) {
  const directory = temporaryDirectory(t);
  const path = await peerPath('asciinema');
  const env = { PATH: process.env['PATH'] ?? '', HOME: directory, LC_ALL: 'C.UTF-8', TERM: 'xterm', SHELL: '/bin/sh' };
  const call = async (...args: string[]): Promise<string> => {
    const output = join(directory, 'output');
    const terminal = spawn('/bin/sh', ['-c', '"$@" > "$OUTPUT"', 'sh', path, ...args], {
      env: { ...env, OUTPUT: output },
    });
    let said = '';
    terminal.onData((text) => {
      said += text;
    });
    const status = await new Promise<number>((resolve) => {
      terminal.onExit(({ exitCode }) => resolve(exitCode));
    });
    if (status !== 0) throw new Error(`asciinema ended with ${status}: ${said}`);
    return readFileSync(output, 'utf8');
  };
  return { directory, call };
}

function shownBy(cast: string): string {
  return [...readCast(cast).events()].map((event) => (event.type === 'output' ? event.text : '')).join('');
}

test('asciinema reads what an agent recorded, to the letter', async (t) => {
  const { directory, call } = await asciinema(t);
  const spool = new RecordingSpool(join(directory, 'spool'));
  const recorder = beginRecording(
    { spool, settings: () => ({ mode: 'all', bytes_max: 100_000, ms_max: 60_000 }) },
    {
      usernameId: crypto.randomUUID(),
      username: 'ada',
      command: null,
      shell: '/bin/sh',
      terminal: { term: 'xterm', columns: 80, rows: 24 },
    },
  );
  const shown = Buffer.from('\u001B[1;31mgrüße "quoted" \\ \u{1F600}\u001B[0m\r\n\u0000\u0007');
  for (const byte of shown) recorder?.output('out', Buffer.of(byte)); // characters come in pieces
  recorder?.resized(100, 30);
  recorder?.output('error', Buffer.from('and the end'));
  recorder?.end();
  const { id } = await until('the end of the recording', () => spool.list()[0]);
  const file = join(directory, 'spool', 'session.cast');
  writeFileSync(file, gunzipSync(await buffer(spool.read(id))));

  t.is(await call('cat', file), `${shown.toString()}and the end`);
});

test('what asciinema recorded is read as asciinema reads it', async (t) => {
  const { directory, call } = await asciinema(t);
  const file = join(directory, 'theirs.cast');

  await call(
    'rec',
    '--quiet',
    '--cols',
    '90',
    '--rows',
    '20',
    '-c',
    String.raw`printf 'h\303\251llo\033[1m\n'; stty size; printf 'a\tb'`,
    file,
  );
  const cast = readFileSync(file, 'utf8');

  t.deepEqual(readCast(cast).size, { columns: 90, rows: 20 });
  t.is(shownBy(cast), await call('cat', file));
  t.true(shownBy(cast).includes('héllo\u001B[1m\r\n'));
});
