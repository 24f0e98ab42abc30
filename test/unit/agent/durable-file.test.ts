import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a file for which there is half of the room keeps what it had', (t) => {
  const path = join(temporaryDirectory(t), 'state');
  const module = join(import.meta.dirname, '../../../agent/durable-file.ts');
  const program = `
    const { writeDurably } = await import(process.argv[1]);
    process.on('SIGXFSZ', () => {});
    try { writeDurably(process.argv[2], 'new'.repeat(10_000)); } catch (error) { console.log(error.code); }`;
  writeFileSync(path, 'old');

  // A limit of the size of files, in blocks of 512 bytes, stands for a disk that is almost full.
  const { stdout } = spawnSync(
    '/bin/sh',
    ['-c', 'ulimit -f 32 && exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', program, module, path],
    { encoding: 'utf8', env: { ...process.env, NODE_COMPILE_CACHE: '' } },
  );

  t.is(readFileSync(path, 'utf8'), 'old');
  t.is(stdout, 'EFBIG\n');
});
