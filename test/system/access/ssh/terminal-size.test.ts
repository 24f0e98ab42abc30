/**
 * A terminal by `script`, where the system starts no further process for its size. Not among the unit tests, many of
 * which share a process: no program starts in it meanwhile.
 */
import { PassThrough, type Readable } from 'node:stream';
import test from 'ava';
import { scriptPath, startScripted } from '../../../../agent/access/ssh/sessions/scripted-terminal.ts';
import type { Start } from '../../../../agent/access/ssh/sessions/running.ts';
import { until } from '../../../support/until.ts';

const OWN = { name: 'own', uid: 0, gid: 0, home: '/', shell: '/bin/sh', isOther: false };

/** More than the kernel takes in one variable, as if it had no memory left. Source: execve(2), MAX_ARG_STRLEN. */
const LONG = 'x'.repeat(200_000);

test('a size that cannot be set ends nothing, and the next one is set', async (t) => {
  if (scriptPath() === null) return t.log('no script is installed here');
  const channel = new PassThrough();
  let seen = '';
  const start = {
    launch: {
      file: '/bin/sh',
      words: ['-c', 'echo ready; while read -r word; do echo "$word $(stty size)"; done'],
      directory: '/',
      environment: { PATH: process.env['PATH'] },
      notice: null,
    },
    channel,
    writer: {
      from(source: Readable, kind: 'out' | 'error', show?: (kind: 'out' | 'error', data: Buffer) => void) {
        source.on('data', (data: Buffer) => {
          seen += String(data);
          show?.(kind, data);
        });
      },
      whenEmpty: (act: () => void) => act(),
    },
    ended: () => {},
  } as unknown as Start;
  process.env['LONG'] = LONG;
  t.teardown(() => delete process.env['LONG']);

  const running = await startScripted(OWN, 'dumb', { columns: 80, rows: 24 }, start);
  t.teardown(() => running.hangUp(1, () => {}));
  running.resize(90, 30); // is due with the first output
  await until('it says something', () => seen.includes('ready'));
  t.notThrows(() => running.resize(91, 31));
  delete process.env['LONG'];
  await until('the next size is set', () => {
    running.resize(92, 32);
    channel.write('size\n');
    return seen.includes('size 32 92');
  });

  t.false(seen.includes('30 90'));
  return undefined;
});
