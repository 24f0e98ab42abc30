import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { removeDirectory } from '../../../agent/execution/exec-shim/exec-shims.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a directory that a process fills while it is removed ends nobody, and is removed once it rests', async (t) => {
  const home = temporaryDirectory(t);
  const directory = join(home, 'keeper');
  mkdirSync(directory);
  const writer = spawn(
    '/bin/sh',
    ['-c', 'i=0; while :; do i=$((i+1)); { : > "$0/$i"; } 2>/dev/null; done', directory],
    { stdio: 'ignore' },
  );
  t.teardown(() => writer.kill('SIGKILL'));
  await until('some files', () => readdirSync(directory).length > 10);

  for (let time = 0; time < 20; time += 1) {
    mkdirSync(directory, { recursive: true });
    // so that removing takes a moment
    for (let file = 0; file < 500; file += 1) writeFileSync(join(directory, `full-${file}`), '');
    t.notThrows(() => removeDirectory(directory));
  }

  writer.kill('SIGKILL');
  await once(writer, 'exit');
  removeDirectory(directory);
  t.false(existsSync(directory));
});
