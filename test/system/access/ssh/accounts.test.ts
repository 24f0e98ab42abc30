/** Accounts of the machine that users become, and users who are none. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { spawn as spawnTerminal } from '@lydell/node-pty';
import anyTest from 'ava';
import type { ExecutionContext } from 'ava';
import { accountsOfMachine, type NameServices } from '../../../../agent/access/ssh/login/accounts.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { until } from '../../../support/until.ts';
import { startSshFixture } from '../../../support/agent/ssh-fixture.ts';
import { runClient } from '../../../support/ssh/openssh.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const accountsFile = join(import.meta.dirname, '../../../../agent/access/ssh/login/accounts.ts');
const fixtureFile = join(import.meta.dirname, '../../../support/agent/ssh-fixture.ts');

const peers = await peerTest('ssh', 'ssh-keygen', 'setpriv', 'useradd', 'sftp');
const isRoot = process.getuid?.() === 0;
const run = promisify(execFile);

/** Tests that make accounts. */
const test = (title: string, implementation: Parameters<typeof peers>[1]): void => {
  if (isRoot) peers(title, implementation);
  else anyTest.skip(`${title} (skipped: only root makes accounts)`, implementation);
};

/** An account of this machine that is gone after the test, with a group beside its own. */
async function account(t: ExecutionContext, shell: string) {
  const name = `edge_${randomBytes(4).toString('hex')}`;
  await run('groupadd', [`${name}_x`]);
  t.teardown(async () => {
    await run('groupdel', [`${name}_x`]);
  });
  await run('useradd', ['--create-home', '--shell', shell, '--groups', `${name}_x`, name]);
  t.teardown(async () => {
    await run('userdel', ['--remove', name]).catch(() => {});
  });
  const [uid = '', gid = ''] = (await run('getent', ['passwd', name])).stdout.split(':').slice(2, 4);
  return { name, uid, gid, groups: (await run('id', ['-G', name])).stdout.trim() };
}

/** A server that knows the machine's accounts, and the words that log somebody in. */
async function withUser(t: ExecutionContext, name: string, ...rules: Parameters<typeof accountsOfMachine>) {
  const fixture = await startSshFixture(t, { accounts: accountsOfMachine(...rules) });
  const key = await fixture.key();
  fixture.user(name, [key]);
  return { fixture, words: [...fixture.options(key), `${name}@127.0.0.1`] };
}

/** The same with an account of the machine. */
async function withAccount(t: ExecutionContext, shell: string) {
  const who = await account(t, shell);
  return { who, ...(await withUser(t, who.name)) };
}

test('a user who is an account becomes it: user, group, all groups, home, shell and variables', async (t) => {
  const { who, fixture, words } = await withAccount(t, '/bin/sh');

  const { stdout, stderr } = await fixture.ssh([
    ...words,
    'id -u; id -g; id -G; pwd; echo "$HOME $USER $LOGNAME $SHELL $MAIL"; echo "$PATH"; grep CapEff /proc/self/status; echo trouble > /dev/stderr',
  ]);

  t.deepEqual(stdout.split('\n'), [
    who.uid,
    who.gid,
    who.groups,
    `/home/${who.name}`,
    `/home/${who.name} ${who.name} ${who.name} /bin/sh /var/mail/${who.name}`,
    '/usr/local/bin:/usr/bin:/bin:/usr/games',
    'CapEff:\t0000000000000000',
    '',
  ]);
  t.is(stderr, 'trouble\n');
});

test('its terminal is its own', async (t) => {
  const { who, fixture, words } = await withAccount(t, '/bin/bash');
  const terminal = spawnTerminal('ssh', ['-tt', ...words], {
    name: 'xterm',
    cols: 200,
    rows: 24,
    env: { PATH: process.env['PATH'], HOME: fixture.directory },
    cwd: fixture.directory,
  });
  t.teardown(() => terminal.kill());
  let seen = '';
  terminal.onData((text) => {
    seen += text;
  });
  await until('the prompt', () => seen.endsWith('$ '));

  terminal.write('echo "<$0 $(id -u) $(id -G) $(stat -c %u "$(tty)") $PWD>"; : > "$(tty)" && echo open"ed"; exit\r');
  await until('the answer', () => seen.includes('opened'));

  t.true(seen.includes(`<-bash ${who.uid} ${who.groups} ${who.uid} /home/${who.name}>`), seen);
});

test('files that it sends are its own, and it reads no others', async (t) => {
  const { who, fixture, words } = await withAccount(t, '/bin/sh');
  const secret = join(fixture.directory, 'secret');
  writeFileSync(secret, 'secret', { mode: 0o600 });

  const end = await runClient(
    t,
    'sftp',
    ['-b', '-', ...words],
    `-get ${secret} ${secret}.copy\nput ${secret} sent\nls -l sent\n`,
  );

  t.is(end.status, 0, end.stderr);
  t.regex(end.stderr, /Permission denied|not found/u);
  t.regex(end.stdout, new RegExp(`-rw\\S+\\s+\\S+ ${who.name}\\s+${who.name} .*sent`, 'u'));
});

test('an account that lets nobody in says so itself, also to those who want files', async (t) => {
  const { fixture, words } = await withAccount(t, '/usr/sbin/nologin');

  const command = await fixture.ssh([...words, 'id']);
  const shell = await fixture.ssh(['-tt', ...words]);
  const files = await runClient(t, 'sftp', ['-b', '-', ...words], 'ls\n');

  t.deepEqual([command.status, shell.status], [1, 1]);
  for (const text of [command.stdout, shell.stdout, files.stderr])
    t.regex(text, /This account is currently not available/u);
});

/** Name services of a machine whose accounts are all in its files. */
const none: NameServices = { ask: () => Promise.resolve(null), absentable: () => Promise.resolve([]) };

test('a user who is no account of the machine is refused, with all that a login gives', async (t) => {
  const { fixture, words } = await withUser(t, 'no_such_account');

  const command = await fixture.ssh([...words, 'id -u']);
  const forward = await fixture.ssh(['-W', `127.0.0.1:${fixture.port}`, ...words]);

  for (const { status, stdout, stderr } of [command, forward]) {
    t.deepEqual([status, stdout], [255, '']);
    t.regex(stderr, /this machine has no account no_such_account/u);
  }
  t.true(
    fixture.asked.some(({ credential }) => credential.method === 'public_key' && credential.signature === 'verified'),
    'the admin is asked all the same, and tells of it',
  );
});

test('a user who is no account becomes root where the operator wants it so', async (t) => {
  const { fixture, words } = await withUser(t, 'no_such_account', 'agent', none);

  const { stdout } = await fixture.ssh([...words, 'id -u']);

  t.is(stdout, '0\n');
});

for (const [what, services, reason] of [
  [
    'does not answer',
    { ...none, ask: () => Promise.reject(new Error('the accounts of this machine cannot be asked')) },
    /the accounts of this machine cannot be asked/u,
  ],
  [
    'says of its users that there are none',
    { ...none, absentable: () => Promise.resolve(['sss']) },
    /this machine has no account known_to_ldap, as far as sss can be asked/u,
  ],
] as const satisfies readonly (readonly [string, NameServices, RegExp])[]) {
  for (const rule of ['refuse', 'agent'] as const) {
    test(`a name service that ${what} makes nobody root, with ${rule} for unknown users`, async (t) => {
      const { fixture, words } = await withUser(t, 'known_to_ldap', rule, services);

      const { status, stdout, stderr } = await fixture.ssh([...words, 'id -u']);

      t.deepEqual([status, stdout], [255, '']);
      t.regex(stderr, rule === 'refuse' && services.ask === none.ask ? /this machine has no account/u : reason);
    });
  }
}

test('an agent that is not root stays who it is, whoever logs in', async (t) => {
  const who = await account(t, '/bin/sh');
  const directory = temporaryDirectory(t, 0o777);
  const program = `
    import { createServer } from 'node:net';
    import { accountsOfMachine } from ${JSON.stringify(accountsFile)};
    import { startSshFixture } from ${JSON.stringify(fixtureFile)};
    const fixture = await startSshFixture({ teardown() {} }, { accounts: accountsOfMachine() });
    const key = await fixture.key();
    fixture.user('root', [key]);
    const options = [...fixture.options(key), 'root@127.0.0.1'];
    const one = await fixture.ssh([...options, 'id -u; id -G; echo "$USER $HOME"']);
    const two = await fixture.ssh(['-tt', ...options, 'id -u']);
    await fixture.server.close();
    console.log(JSON.stringify([one, two]));
  `;
  writeFileSync(join(directory, 'agent.ts'), program);
  const become = ['-C', directory, 'setpriv', `--reuid=${who.uid}`, `--regid=${who.gid}`, '--init-groups'];

  const end = await runClient(t, 'env', [...become, process.execPath, join(directory, 'agent.ts')], '', {
    TMPDIR: directory,
    HOME: directory,
  });
  const [one, two] = JSON.parse(end.stdout || 'null') as { stdout: string; stderr: string; status: number }[];

  t.deepEqual(
    [one?.status, one?.stdout],
    [0, `${who.uid}\n${who.groups}\n${who.name} /home/${who.name}\n`],
    end.stderr,
  );
  t.deepEqual([two?.status, two?.stdout], [0, `${who.uid}\r\n`]);
});
