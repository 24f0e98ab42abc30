import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { PipePool } from '../../../../../../agent/access/ssh/sessions/pipes.ts';
import { temporaryDirectory } from '../../../../../support/temporary-directory.ts';

const ACCOUNT = { name: 'own', uid: 0, gid: 0, home: '/', shell: '/bin/sh', isOther: false };

test('where no pipes could be made, they are tried again for the next program', async (t) => {
  const parent = join(temporaryDirectory(t), 'data');
  writeFileSync(parent, 'no directory');
  const pool = new PipePool(join(parent, 'ssh-pipes'));
  t.teardown(() => pool.close());

  t.is(await pool.take(ACCOUNT), null);
  t.is(await pool.take(ACCOUNT), null);
  rmSync(parent);
  const pipes = await pool.take(ACCOUNT);

  t.not(pipes, null);
  pipes?.handOver();
  for (const ours of [pipes?.stdin, pipes?.stdout, pipes?.stderr]) ours?.destroy();
});
