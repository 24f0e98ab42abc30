/** What runs in a session over SSH: commands, shells and terminals, and what their clients do to them. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SshServerOptions } from '../../../../agent/access/ssh/server.ts';
import { withAlice } from '../../../support/agent/ssh-fixture.ts';
import { person } from '../../../support/agent/ssh-person.ts';
import { scaled } from '../../../support/busy.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { collect, options, runClient } from '../../../support/ssh/openssh.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { lives } from '../../../support/processes.ts';
import { execRaw, withRawAlice } from '../../../support/ssh/raw-ssh-client.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('ssh', 'ssh-keygen', 'scp', 'rsync');

test('a command has its two outputs, its exit status and its input to the end', async (t) => {
  const { fixture, words } = await withAlice(t);

  t.deepEqual(await fixture.ssh([...words, 'cat; echo trouble > /dev/stderr; exit 7'], 'in\n'), {
    status: 7,
    signal: null,
    stdout: 'in\n',
    stderr: 'trouble\n',
  });
});

test('exit statuses and signals are told exactly', async (t) => {
  const { client } = await withRawAlice(t);
  const endOf = async (command: string) => {
    const channel = await execRaw(client, command);
    channel.resume().stderr.resume();
    return (await once(channel, 'exit')) as unknown[];
  };

  t.is((await endOf('exit 0'))[0], 0);
  t.is((await endOf('exit 255'))[0], 255);
  t.deepEqual((await endOf('kill -TERM $$')).slice(0, 2), [null, 'SIGTERM']);
  t.deepEqual((await endOf('kill -KILL $$')).slice(0, 2), [null, 'SIGKILL']);
  t.is((await endOf('no-such-program'))[0], 127);
});

test('the exit status of a program that closes its outputs first is delivered, also on a shared connection', async (t) => {
  const { fixture, words } = await withAlice(t);
  const shared = [...options(`ControlPath=${join(fixture.directory, 'control')}`), ...words];
  fixture.start([...options('ControlMaster=yes'), '-N', ...shared]);
  await until('the shared connection', async () => (await fixture.ssh(['-O', 'check', ...shared])).status === 0);

  for (const way of [words, shared])
    t.deepEqual(await fixture.ssh([...way, 'echo out; exec >&- 2>&-; sleep 0.6; exit 7']), {
      status: 7,
      signal: null,
      stdout: 'out\n',
      stderr: '',
    });
});

test('a signal that the client sends reaches the process group', async (t) => {
  const { client } = await withRawAlice(t);
  const channel = await execRaw(client, 'trap "echo heard; exit 5" USR1; echo ready; while :; do sleep 0.05; done');
  channel.stderr.resume();
  await once(channel, 'data');

  channel.signal('USR1');
  const [status] = (await once(channel.resume(), 'exit')) as [number];

  t.is(status, 5);
});

test('what a vanished client leaves running gets HUP, and KILL when it does not listen', async (t) => {
  const { fixture, words } = await withAlice(t, { limits: { hangUpMs: 300 } });
  const pids: number[] = [];
  for (const terminal of [['-T'], ['-tt']]) {
    for (const trap of ['trap "" HUP TERM', 'true']) {
      const child = fixture.start([...terminal, ...words, `${trap}; sleep 1000 & echo $$ $!; wait; sleep 1000`]);
      const [text] = (await once(child.stdout, 'data')) as [Buffer];
      pids.push(...String(text).trim().split(' ').map(Number));
      child.kill('SIGKILL');
    }
  }

  t.is(pids.length, 8);
  await until('no process is left', () => !pids.some(lives));
});

/** With node-pty, and where only the agent's one file is installed. */
const TERMINALS: Readonly<Record<string, Partial<SshServerOptions>>> = {
  'node-pty': {},
  script: { loadPty: async () => null },
};

for (const [by, settings] of Object.entries(TERMINALS))
  test(`a person has a terminal by ${by}: its size, its name, its variables, a login shell and job control`, async (t) => {
    const { fixture, words } = await withAlice(t, settings);
    const { terminal, ended, sees } = person(t, fixture, [...options('SendEnv=LC_ALL'), ...words]);
    await sees(/\$ $|# $/u);

    terminal.write('echo "<$0 $TERM $LC_ALL $(stty size) $(tty) $SSH_TTY>"\r');
    const [shown] = await sees(/<-bash xterm-256color C.UTF-8 33 91 (?:\/dev\/pts\/\d+) (?:\/dev\/pts\/\d+)>/u);
    terminal.resize(120, 40);
    terminal.write('until [ "$(stty size)" = "40 120" ]; do sleep 0.05; done; echo re"sized"\r');
    await sees(/resized/u);
    terminal.write('sh -c \'echo run"ning" 1; exec sleep 1000\'\r');
    await sees(/running 1/u);
    terminal.write('\u0003');
    await sees(/\^C/u);
    terminal.write('echo status"="$?\r');
    await sees(/status=130/u);
    terminal.write('sh -c \'echo run"ning" 2; exec sleep 1001\'\r');
    await sees(/running 2/u);
    terminal.write('\u001A');
    await sees(/Stopped/u);
    terminal.write('exit 4\rexit 4\r'); // bash says first that there are stopped jobs

    t.is(await ended, 4);
    const [, one, two] = /(\/dev\/pts\/\d+) (\/dev\/pts\/\d+)/u.exec(shown) ?? [];
    t.is(one, two);
  });

test('where nothing makes terminals, the person is told what to install', async (t) => {
  const { fixture, words } = await withAlice(t, { loadPty: () => Promise.reject(new Error('no terminal for you')) });
  const { sees, ended } = person(t, fixture, words);

  await sees(/edge-agent: no terminal for you/u);
  t.is(await ended, 126);
});

test('a terminal that reads no input holds up nobody', async (t) => {
  const { fixture, words } = await withAlice(t);
  const go = join(fixture.directory, 'go');
  const waiting = `while [ ! -e '${go}' ]; do sleep 0.05; done`;
  const child = fixture.start(['-tt', ...words, `stty raw -echo; echo ready; ${waiting}; head -c 100000 | md5sum`]);
  let text = '';
  child.stdout.on('data', (data: Buffer) => {
    text += String(data);
  });
  await until('it is ready', () => text.includes('ready'));

  child.stdin.write(Buffer.alloc(3_000_000, 'a'));
  // comes to its end while nothing is read there
  const quick = fixture.ssh([...words, 'echo quick']);
  const other = await Promise.race([quick, delay(scaled(60_000), null, { ref: false })]);
  writeFileSync(go, '');
  await until('its input was read', () => text.includes(createHash('md5').update('a'.repeat(100_000)).digest('hex')));

  t.is(other?.stdout, 'quick\n');
});

test('only variables of language and terminal pass', async (t) => {
  const { fixture, words } = await withAlice(t);
  const variables = {
    LANG: 'de_DE.UTF-8',
    LC_TIME: 'C',
    LD_PRELOAD: '/nowhere.so',
    BASH_ENV: '/nowhere',
    PATH_EXTRA: 'x',
  };

  const { stdout } = await fixture.ssh(
    [...options(...Object.keys(variables).map((name) => `SendEnv=${name}`)), ...words, 'env'],
    '',
    variables,
  );

  t.deepEqual(
    Object.keys(variables).filter((name) => new RegExp(`^${name}=`, 'mu').test(stdout)),
    ['LANG', 'LC_TIME'],
  );
  t.regex(stdout, /^SSH_CONNECTION=127\.0\.0\.1 \d+ 127\.0\.0\.1 \d+$/mu);
});

test('a shell reads a script from its input, as editors start their server (-T -D)', async (t) => {
  const { fixture, words } = await withAlice(t);

  const end = await fixture.ssh(
    ['-T', '-D', String(await freePort()), ...words, 'bash', '-s'],
    'read line <<< here; echo "$line $0"\nexit 3\n',
  );
  const sh = await fixture.ssh(['-T', ...words], 'echo $0; exit 2\n');

  t.deepEqual([end.status, end.stdout], [3, 'here bash\n']);
  t.deepEqual([sh.status, sh.stdout], [2, '-bash\n']);
});

test('files are copied by scp, old and new, and by rsync', async (t) => {
  const { fixture, key } = await withAlice(t);
  const content = randomBytes(3_000_000);
  const here = (name: string) => join(fixture.directory, name);
  const there = (name: string) => `alice@127.0.0.1:${here(name)}`;
  writeFileSync(here('from'), content);
  mkdirSync(here('tree'));
  writeFileSync(here('tree/leaf'), content);
  const words = fixture.options(key);

  for (const [program, ...copied] of [
    ['scp', '-O', ...words, here('from'), there('old')],
    ['scp', ...words, here('from'), there('new')],
    ['scp', ...words, there('new'), here('back')],
    ['rsync', '-a', '-e', `ssh ${words.join(' ')}`, `${here('tree')}/`, there('copy/')],
  ] as const)
    t.is((await runClient(t, program, copied)).stderr, '', copied.join(' '));

  for (const name of ['old', 'new', 'back', 'copy/leaf']) t.true(readFileSync(here(name)).equals(content), name);
});

test('a program that cannot be started says why, and an unknown subsystem is refused', async (t) => {
  const { fixture, words } = await withAlice(t, {
    accounts: async () => ({ name: 'x', uid: 0, gid: 0, home: '/nowhere', shell: '/nowhere/sh', isOther: false }),
  });

  const missing = await fixture.ssh([...words, 'true']);
  const subsystem = await fixture.ssh(['-s', ...words, 'netconf']);

  t.is(missing.status, 126);
  t.regex(missing.stderr, /home directory \/nowhere: it does not exist\n(?:.|\n)*edge-agent: .*\/nowhere\/sh/u);
  t.deepEqual([subsystem.status, subsystem.stderr], [255, 'subsystem request failed on channel 0\r\n']);
});

test('a channel that ends without a program makes room for the next one on its connection', async (t) => {
  const { fixture, words } = await withAlice(t, { limits: { channelsMax: 2 } });
  const shared = [...options(`ControlPath=${join(fixture.directory, 'control')}`), ...words];
  fixture.start([...options('ControlMaster=yes'), '-N', ...shared]);
  await until('the shared connection', async () => (await fixture.ssh(['-O', 'check', ...shared])).status === 0);

  for (let left = 4; left > 0; left -= 1) t.is((await fixture.ssh(['-s', ...shared, 'netconf'])).status, 255);

  t.deepEqual(await fixture.ssh([...shared, 'echo in']), { status: 0, signal: null, stdout: 'in\n', stderr: '' });
});

test('a client is asked whether it is there, and one that is silent is cut', async (t) => {
  const limits = { keepAliveMs: scaled(1_000), keepAlivesMissedMax: 3 };
  const { fixture, key, words } = await withAlice(t, { limits });
  fixture.user('bob', [key]);
  const go = join(fixture.directory, 'go');
  const waiting = `echo in; while [ ! -e '${go}' ]; do sleep 0.05; done; echo out`;
  const alive = collect(fixture.start([...options('ServerAliveInterval=1'), ...words, waiting]));
  const silent = fixture.start([...fixture.options(key), 'bob@127.0.0.1', 'echo in; cat']);
  await once(silent.stdout, 'data');
  await until('both to be in', () => fixture.server.grants().length === 2);
  silent.kill('SIGSTOP');

  await until('one of them to be cut', () => fixture.server.grants().length === 1);
  const left = fixture.server.grants().map((grant) => grant.ssh_username_id);
  writeFileSync(go, '');
  const end = await alive; // as long as the silent one was let be, it was asked too

  t.deepEqual(left, [fixture.users.get('alice')?.id]);
  t.deepEqual([end.status, end.stdout], [0, 'in\nout\n']);
});
