/** The script of the installation as a whole: shells read it alike, and a copy that was cut does nothing. */
import { execFileSync } from 'node:child_process';
import { hangAfter } from '../../support/busy.ts';
import { inTurn } from '../../support/installing/in-turn.ts';
import { startMachine } from '../../support/installing/machine.ts';
import { startMirror } from '../../support/installing/mirror.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { WITH_KEY } from './refusal-cases.ts';

const test = await peerTest('root', 'debian-root', 'shellcheck');

test('nothing but a whole script does anything', async (t) => {
  t.timeout(hangAfter(60_000));
  const machine = await startMachine(t);
  const { script } = await startMirror(t);
  const before = await machine.files();
  // every cut of the end, where the call is, and some of all before it
  const cuts = [
    ...Array.from({ length: 40 }, (_, index) => script.length - 2 - index),
    ...Array.from({ length: 60 }, (_, index) => Math.floor((script.length * index) / 60)),
  ];

  const statuses = await inTurn(cuts, async (length) => {
    const { stdout } = await machine.run(`sh -s -- ${WITH_KEY} --dry-run 2>/dev/null`, {
      stdin: script.slice(0, length),
    });
    return stdout;
  });

  t.deepEqual([...new Set(statuses)], ['']);
  t.regex(
    (await machine.run(`sh -s -- ${WITH_KEY} --dry-run`, { stdin: script })).stdout,
    /^would download edge-agent 0\.2\.0/u,
  );
  t.deepEqual(await machine.files(), before);
});

test('admins are asked by their URLs, with a slash at the end or without', async (t) => {
  const machine = await startMachine(t);
  const { script } = await startMirror(t);
  const admins = '--admin https://a.example.com/,https://b.example.com/edge//';

  const { stdout, stderr } = await machine.run(`sh -s -- ${WITH_KEY} ${admins} --dry-run`, { stdin: script });

  t.regex(
    stdout,
    /^would download edge-agent 0\.2\.0 with its runtime \(\d+ MiB\) from https:\/\/a\.example\.com, /u,
    stderr,
  );
});

test('dash, busybox and bash read it alike, and shellcheck finds nothing in it', async (t) => {
  const machine = await startMachine(t);
  const { script } = await startMirror(t);
  machine.write('/root/install.sh', script);
  const shells = ['dash', 'busybox sh', 'bash', 'bash --posix'];

  const said = await inTurn(shells, (shell) => machine.run(`${shell} /root/install.sh ${WITH_KEY} --dry-run`));

  t.deepEqual(
    said.map(({ status, stdout }) => ({ status, stdout })),
    shells.map(() => ({ status: 0, stdout: said[0]?.stdout ?? '' })),
  );
  t.is(execFileSync('shellcheck', ['-s', 'sh', '-'], { input: script, encoding: 'utf8' }), '');
});
