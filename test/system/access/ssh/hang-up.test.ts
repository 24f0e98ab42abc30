import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'ava';
import { groupsLeftBy, hangUp, killLeft } from '../../../../agent/access/ssh/sessions/hang-up.ts';
import { until } from '../../../support/until.ts';
import { takeDescriptors } from '../../../support/descriptors.ts';
import { lives, procFile } from '../../../support/processes.ts';

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

test('what is to be killed later is left alone when its number is another process by then', async (t) => {
  const program = spawn('/bin/sh', ['-c', 'while read -r word; do echo "$word"; done'], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const { pid = 0 } = program;
  const startTicks = procFile(pid, 'stat').split(') ').at(-1)?.split(' ')[19] ?? '';

  killLeft([
    { group: pid, startTicks: String(Number(startTicks) - 1) },
    { group: pid, startTicks: null },
  ]);
  program.stdin.write('lives\n');
  t.is(String((await once(program.stdout, 'data'))[0]), 'lives\n');

  killLeft([{ group: pid, startTicks }]);
  t.is((await once(program, 'exit'))[1], 'SIGKILL');
});

test.serial('a program that ignores HUP is killed, also where no file could be opened when it was sent', async (t) => {
  const program = spawn('/bin/sh', ['-c', 'trap "" HUP; echo up; exec sleep 1000'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { pid = 0 } = program;
  t.teardown(() => program.kill('SIGKILL'));
  await once(program.stdout, 'data');
  const over = Promise.withResolvers<void>();

  const taken = takeDescriptors(t, 0);
  if (taken === null) return t.log('no prlimit is installed here');
  hangUp([pid], 10, over.resolve);
  taken.giveBack();
  await over.promise;

  return t.is(await until('its end', () => program.signalCode ?? false), 'SIGKILL');
});
