/** SSH usernames and keys by the command line, on a real admin. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { SshPublicKeyResource, SshUsernameResource } from '../../../actors/resources/ssh.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { createScope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { edgeOf, inTerminal, type Words } from './fixture.ts';

const PASSWORD = 'correct horse battery';

const fleet = sharedFleet(test, {});
const scope = createScope();
const home = temporaryDirectory(scope);
test.after.always('its home is removed', () => scope.end());
const edge = edgeOf(fleet, { HOME: home });

/** A node with an alias. */
async function node(t: ExecutionContext, alias: string): Promise<string> {
  const { node_id: id } = await enrollRaw(t, fleet());
  await fleet().rest.post(`/nodes/${id}/aliases`, { name: alias });
  return id;
}

test('a username is added with keys from files and lines, shown, listed, and removed', async (t) => {
  const id = await node(t, 'web-1');
  const [key, other] = [newKey('ada@laptop'), newKey('')];
  mkdirSync(join(home, '.ssh'), { recursive: true });
  writeFileSync(join(home, '.ssh', 'id_ed25519.pub'), `${key.line}\n`);

  const added = await edge.json<SshUsernameResource>(t, [
    'sshuser',
    'add',
    'web-1',
    'carol',
    '-k',
    '@~/.ssh/id_ed25519.pub',
    '--public-key',
    other.line,
  ]);
  t.deepEqual(
    [added.node_id, added.has_password, added.public_keys?.map((one) => [one.key_name, one.fingerprint])],
    [
      id,
      false,
      [
        ['ada@laptop', key.fingerprint],
        ['key', other.fingerprint],
      ],
    ],
  );
  for (const name of ['web-1/carol', 'carol', added.id, `${id}/carol`, `web-1.fleet.edge.internal/carol`])
    t.is((await edge.json<SshUsernameResource>(t, ['sshuser', 'get', name])).id, added.id, name);
  const { stdout } = await edge.run('sshuser ls -n web-1');
  t.regex(
    stdout,
    new RegExp(`^USERNAME +NODE +PASSWORD +CREATED +ID\ncarol +web-1 +no +\\d+s +${added.id.slice(0, 8)}\n$`, 'u'),
  );

  t.deepEqual(await edge.run('sshuser rm web-1/carol'), { status: 0, stdout: '', stderr: '' });
  await edge.refuses(
    t,
    'sshuser rm web-1/carol',
    4,
    /there is no SSH username "web-1\/carol": edge sshuser ls shows all/u,
  );
});

test('keys are added to a username by its name, listed, and taken from everyone at once by their fingerprint', async (t) => {
  await node(t, 'db-1');
  await node(t, 'db-2');
  const [key, other] = [newKey('bob@laptop'), newKey('bob@phone')];
  writeFileSync(join(home, 'bob.pub'), key.line.replace(' bob@laptop', ''));
  for (const alias of ['db-1', 'db-2'])
    t.is(
      (await edge.run(['sshuser', 'add', alias, 'bob'])).stderr,
      `edge: nothing opens bob yet: edge sshkey add ${alias}/bob @~/.ssh/id_ed25519.pub\n`,
    );

  const added = await edge.json<SshPublicKeyResource>(t, 'sshkey add db-1/bob @~/bob.pub');
  await edge.json(t, ['sshkey', 'add', 'db-2/bob', `@${join(home, 'bob.pub')}`, '--name', 'his laptop']);
  await edge.json(t, ['sshkey', 'add', 'db-2/bob', other.line]);

  t.is(added.key_name, 'bob');
  t.deepEqual(
    (await edge.json<SshPublicKeyResource[]>(t, 'sshkey ls db-2/bob')).map((one) => one.key_name).toSorted(),
    ['bob@phone', 'his laptop'],
  );
  await edge.refuses(
    t,
    ['sshkey', 'add', 'bob', other.line],
    2,
    /2 nodes have the SSH username "bob": say which as NODE\/USERNAME, such as \S+\/bob, \S+\/bob/u,
  );
  await edge.refuses(t, ['sshkey', 'add', 'db-2/bob', other.line], 1, /The SSH username has this key already/u);
  await edge.refuses(
    t,
    ['sshkey', 'rm', key.fingerprint],
    2,
    /2 SSH usernames have the key SHA256:\S+: give its id, or --everywhere/u,
  );
  t.is((await edge.run(['sshkey', 'rm', key.fingerprint, '--everywhere'])).status, 0);
  t.deepEqual(
    (await edge.json<SshPublicKeyResource[]>(t, 'sshkey ls'))
      .map((one) => one.key_name)
      .filter((name) => name.startsWith('bob') || name === 'his laptop'),
    ['bob@phone'],
  );
  await edge.refuses(t, ['sshkey', 'rm', key.fingerprint], 4, /there is no key SHA256:/u);
});

test('a private key does not leave the machine, and what is no key is refused with what it is', async (t) => {
  await node(t, 'keys-1');
  writeFileSync(
    join(home, 'secret'),
    '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU=\n-----END OPENSSH PRIVATE KEY-----\n',
  );
  writeFileSync(join(home, 'secret.pub'), newKey().line);
  writeFileSync(join(home, 'empty.pub'), '\n');

  await edge.refuses(
    t,
    ['sshuser', 'add', 'keys-1', 'ada', '-k', `@${join(home, 'secret')}`],
    2,
    /is a private key, which must never leave your machine: give @\S+secret\.pub/u,
  );
  await edge.refuses(
    t,
    ['sshuser', 'add', 'keys-1', 'ada', '-k', '-----BEGIN OPENSSH PRIVATE KEY-----'],
    2,
    /that is a private key, which must never leave your machine: give the line in the \.pub file/u,
  );
  await edge.refuses(
    t,
    'sshuser add keys-1 ada -k @/nonexistent/key.pub',
    2,
    /there is no key \/nonexistent\/key\.pub: ssh-keygen -t ed25519 makes one/u,
  );
  await edge.refuses(t, ['sshuser', 'add', 'keys-1', 'ada', '-k', `@${join(home, 'empty.pub')}`], 2, /is empty/u);
  await edge.refuses(
    t,
    ['sshuser', 'add', 'keys-1', 'ada', '-k', 'ssh-dss AAAA'],
    2,
    /^edge: public key is a DSA key, which is too weak/u,
  );
  await edge.refuses(t, 'sshuser add keys-1 Ada', 2, /username must begin with a-z or _/u);
  t.is(
    (await edge.json<SshUsernameResource>(t, ['sshuser', 'add', 'keys-1', 'ada', '-k', `@${join(home, 'secret.pub')}`]))
      .public_keys?.length,
    1,
  );
});

test('a password comes from stdin, and is not shown', async (t) => {
  await node(t, 'pass-1');

  const added = await edge.json<SshUsernameResource>(
    t,
    ['sshuser', 'add', 'pass-1', 'ada', '--password-stdin'],
    `${PASSWORD}\nmore\n`,
  );

  t.true(added.has_password);
  t.false(JSON.stringify(added).includes(PASSWORD));
  await edge.refuses(t, 'sshuser add pass-1 eve --password-stdin', 2, /stdin holds no password/u, '\n');
  await edge.refuses(
    t,
    'sshuser add pass-1 eve --password-stdin',
    2,
    /password must be at least 12 characters/u,
    'short\n',
  );
  await edge.refuses(
    t,
    'sshuser add pass-1 eve --password',
    2,
    /--password asks on a terminal, and this is none: use --password-stdin/u,
  );
  await edge.refuses(t, 'sshuser add pass-1 eve --password --password-stdin', 2, /cannot be used with/u);
});

/** Answers the questions of `edge` in a terminal in turn: its status, and all that the terminal showed. */
async function asked(t: ExecutionContext, args: Words, ...answers: readonly string[]) {
  const terminal = inTerminal(t, args, edge.env());
  for (const [index, answer] of answers.entries()) {
    await until('the question', () => terminal.shown().split(/(?:Password|Again): /u).length > index + 1);
    terminal.type(answer);
  }
  return { status: await terminal.ended, shown: terminal.shown() };
}

test('a password is asked for twice on a terminal, and what is typed is not shown', async (t) => {
  await node(t, 'term-1');

  const good = await asked(t, 'sshuser add term-1 ada --password', `${PASSWORD}\r`, `${PASSWORD}\r`);
  const differ = await asked(t, 'sshuser add term-1 bob --password', `${PASSWORD}\r`, `${PASSWORD}!\r`);
  const left = await asked(t, 'sshuser add term-1 bob --password', '\u0003');

  t.regex(good.shown, />\r\nPassword: \r\nAgain: \r\n[^]*has_password +true/u);
  t.deepEqual([good.status, differ.status, left.status], [0, 2, 130]);
  t.regex(differ.shown, /edge: the two passwords differ/u);
  for (const { shown } of [good, differ, left]) t.false(shown.includes('correct'));
  t.deepEqual(
    (await edge.json<SshUsernameResource[]>(t, 'sshuser ls -n term-1')).map((one) => one.username),
    ['ada'],
  );
});
