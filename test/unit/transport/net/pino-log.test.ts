/** A log whose standard error takes nothing: a full disk, a terminal that is gone. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ROOT } from '../../../support/source/source-text.ts';

const LINES = 30_000;

test('a program whose log cannot be written goes on, and keeps no more of it than it says', (t) => {
  const full = openSync('/dev/full', 'w');
  const program = `
    const { createLog } = await import(${JSON.stringify(join(ROOT, 'transport/net/pino-log.ts'))});
    const log = createLog('test', 'info');
    const begun = process.memoryUsage.rss();
    for (let line = 0; line < ${LINES}; line += 1) log.info({ text: 'x'.repeat(4_000) }, 'a line');
    process.stdout.write(String(process.memoryUsage.rss() - begun));
    process.exit(7);`;

  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', full],
    encoding: 'utf8',
  });
  closeSync(full);

  t.is(status, 7);
  t.true(Number(stdout) < 60_000_000, stdout);
});
