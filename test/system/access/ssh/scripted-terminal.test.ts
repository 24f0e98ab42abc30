/** Terminals where only the agent's one file is installed, made by `script`. */
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { withAlice } from '../../../support/agent/ssh-fixture.ts';
import { person } from '../../../support/agent/ssh-person.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { lives } from '../../../support/processes.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('ssh', 'ssh-keygen');

/** The words of a process, each with a NUL behind it; none where it is gone. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

test('a terminal by script has the size that was asked for last, however often it is asked, with one process for it', async (t) => {
  const { fixture, words } = await withAlice(t, { loadPty: async () => null });
  const { terminal, sees } = person(t, fixture, words);
  await sees(/\$ $|# $/u);
  terminal.write('echo "<$(tty)>"\r');
  const [, path = ''] = await sees(/<(\/dev\/pts\/\d+)>/u);
  const sizers = (): number =>
    readdirSync('/proc').filter((pid) => commandOf(pid).startsWith(`stty\0-F\0${path}\0`)).length;
  let most = 0;

  for (let columns = 40; columns <= 160; columns += 1) {
    terminal.resize(columns, 30);
    await setImmediate();
    most = Math.max(most, sizers());
  }
  terminal.write('until [ "$(stty size)" = "30 160" ]; do sleep 0.05; done; echo re"sized"\r');
  await sees(/resized/u);

  t.true(most <= 1, `${most} at once`);
  await until('no size is being set', () => sizers() === 0);
  terminal.write('echo "<$(stty size)>"\r');
  await sees(/<30 160>/u);
});

test('a terminal by script goes with its client, and all that runs in it', async (t) => {
  const { fixture, words } = await withAlice(t, { loadPty: async () => null, limits: { hangUpMs: 500 } });
  const { terminal, sees } = person(t, fixture, words);
  await sees(/\$ $|# $/u);
  terminal.write('trap "" HUP; echo pid"="$$; sleep 1000\r');
  const [, pid = '0'] = await sees(/pid=(\d+)/u);

  terminal.kill('SIGKILL');

  await until('it is gone', () => !lives(Number(pid)));
  t.pass();
});
