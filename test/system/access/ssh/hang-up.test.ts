import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'ava';
import { groupsLeftBy, hangUp } from '../../../../agent/access/ssh/sessions/hang-up.ts';
import { until } from '../../../support/until.ts';
import { lives } from '../../../support/processes.ts';

test('what a program that has ended left in its group is ended', async (t) => {
  const program = spawn('/bin/sh', ['-c', 'sleep 1000 & echo $!'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [text] = (await once(program.stdout, 'data')) as [Buffer];
  if (program.exitCode === null) await once(program, 'exit');

  await new Promise<void>((resolve) => {
    hangUp(groupsLeftBy(program.pid ?? 0), 10, resolve);
  });

  await t.notThrowsAsync(until('it is gone', () => !lives(Number(text))));
});

test('a number that is another process by now is left alone', (t) => {
  t.deepEqual(groupsLeftBy(process.pid), []);
});
