/**
 * Machines by OpenSSH and what builds on it: `edge ssh`, `edge cp`, and the configuration of `edge ssh-config`, from
 * end to end.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import ava from 'ava';
import { freePort } from '../../../support/free-ports.ts';
import { peerTest } from '../../../support/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { sharedFleet } from '../../../support/shared-fleet.ts';
import { until } from '../../../support/until.ts';
import { startEdge } from '../../../support/edge-program.ts';
import { allowLogin, ALIAS, createReachFixture, USERNAME, type ReachFixture } from './fixture.ts';

const test = await peerTest('ssh', 'scp', 'sftp', 'rsync', 'ssh-keygen');

const scope = createScope();
const fleet = sharedFleet(ava, { agents: 1, agentEnv: { AGENT_ALIASES: ALIAS } });
let fixture: ReachFixture;
let login: readonly string[];
let config: string;

test.before(async () => {
  fixture = await createReachFixture(scope, fleet());
  login = await allowLogin(fleet(), fixture);
  const { stdout } = await fixture.edge('ssh-config');
  config = join(fixture.directory, 'ssh_config');
  writeFileSync(config, stdout);
});

ava.after.always('its files go', () => scope.end());

/** Options of `edge ssh` and `edge cp`, for which no configuration of this machine counts. */
const own = (): readonly string[] => ['-F', 'none', ...login];
const ssh = (...words: string[]) => fixture.run('ssh', ['-F', config, ...login, ...words]);
const person = (): string => `${USERNAME}@${fixture.host}`;

test.serial(
  'a command runs on a machine by its alias, alone or with its cluster, its id and its host names, and its exit status comes through',
  async (t) => {
    for (const name of [
      ALIAS,
      `${ALIAS}.fleet`,
      fixture.host,
      fixture.node.id,
      fixture.node.id.slice(0, 8),
      `node-${fixture.node.id}`,
      fixture.node.vpn_hostname,
    ]) {
      const { status, stdout, stderr } = await fixture.edge(
        'ssh',
        ...own(),
        `${USERNAME}@${name}`,
        '--',
        'echo out; echo err >&2; exit 7',
      );
      t.deepEqual([status, stdout], [7, 'out\n'], stderr);
      t.regex(stderr, /(?:^|\n)err\n$/u);
    }
    t.regex(
      readFileSync(join(fixture.env['XDG_CONFIG_HOME'] ?? '', 'edge', 'known_hosts'), 'utf8'),
      new RegExp(`^${fixture.node.vpn_hostname} ssh-ed25519 [^\n]+\n$`, 'u'),
    );
  },
);

test.serial(
  'options of ssh go through before and after the machine, and words of the command as they are',
  async (t) => {
    const after = await fixture.start(['ssh', ALIAS, '-l', USERNAME, ...own(), '-v', 'printf %s', '"$0 x  y"', '-o'])
      .ended;
    const quiet = await fixture.start(['ssh', ...own(), '-qT', `-l${USERNAME}`, ALIAS, '--', 'cat']).ended;

    t.deepEqual([after.status, /^\S+ x {2}y-o$/u.test(after.stdout), /debug1: /u.test(after.stderr)], [0, true, true]);
    t.deepEqual(quiet, { status: 0, stdout: '', stderr: '' });
  },
);

test.serial('a terminal is one on the machine too', async (t) => {
  const { status, stdout } = await fixture.run(
    'script',
    [
      '-qec',
      ['edge', 'ssh', ...own(), '-t', `${USERNAME}@${ALIAS}`, '--', 'tty; exit 5'].map((word) => `'${word}'`).join(' '),
      '/dev/null',
    ],
    '',
    { PATH: `${edgeOnPath()}:${process.env['PATH'] ?? ''}` },
  );

  t.is(status, 5);
  t.regex(stdout, /\/dev\/pts\/\d+/u);
});

test.serial('files go to a machine and come back, directories too, and names with spaces', async (t) => {
  const [there, back] = [join(fixture.directory, 'there'), join(fixture.directory, 'back')];
  mkdirSync(join(fixture.directory, 'tree', 'in ner'), { recursive: true });
  const content = randomBytes(3_000_000);
  writeFileSync(join(fixture.directory, 'tree', 'in ner', 'a b'), content);

  const to = await fixture.edge(
    'cp',
    '-q',
    ...own(),
    '-r',
    join(fixture.directory, 'tree'),
    `${USERNAME}@${ALIAS}:${there}`,
  );
  const from = await fixture.edge('cp', '-qr', ...own(), `${USERNAME}@${fixture.node.vpn_hostname}:${there}`, back);
  const missing = await fixture.edge('cp', ...own(), `${USERNAME}@${ALIAS}:${there}/none`, back);

  t.deepEqual(
    [to, from].map(({ status, stdout }) => [status, stdout]),
    [
      [0, ''],
      [0, ''],
    ],
    to.stderr + from.stderr,
  );
  t.true(readFileSync(join(back, 'in ner', 'a b')).equals(content));
  t.is(missing.status, 1);
  t.regex(missing.stderr, /No such file/u);
});

test.serial(
  'plain ssh, scp and sftp work by the configuration, whatever stands in the path of its files',
  async (t) => {
    const content = randomBytes(1_000_000);
    const [source, there, back] = ['source', 'plain', 'plain-back'].map((name) => join(fixture.directory, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(source, content);

    const run = await ssh(person(), 'echo $SSH_CONNECTION | wc -w; exit 3');
    const copied = await fixture.run('scp', ['-q', '-F', config, ...login, source, `${person()}:${there}`]);
    const fetched = await fixture.run(
      'sftp',
      ['-q', '-F', config, ...login, '-b', '-', person()],
      `get ${there} ${back}\n`,
    );

    t.deepEqual([run.status, run.stdout], [3, '4\n'], run.stderr);
    t.is(copied.status, 0, copied.stderr);
    t.is(fetched.status, 0, fetched.stderr);
    t.true(readFileSync(back).equals(content));
  },
);

test.serial('rsync and git work by the configuration', async (t) => {
  const tree = join(fixture.directory, 'synced');
  mkdirSync(tree);
  for (let index = 0; index < 50; index += 1) writeFileSync(join(tree, `file-${index}`), randomBytes(2_000));
  const shell = ['ssh', '-F', config, ...login].map((word) => `'${word}'`).join(' ');
  const git = (...words: string[]) =>
    fixture.run('git', words, '', { GIT_SSH_COMMAND: shell, GIT_CONFIG_NOSYSTEM: '1' });

  const synced = await fixture.run('rsync', [
    '-a',
    '-e',
    shell,
    `${tree}/`,
    `${person()}:${fixture.directory}/synced-there/`,
  ]);
  await git('init', '-q', '--bare', '-b', 'main', join(fixture.directory, 'project.git'));
  const cloned = await git(
    'clone',
    '-q',
    `${person()}:${fixture.directory}/project.git`,
    join(fixture.directory, 'clone'),
  );
  const at = ['-C', join(fixture.directory, 'clone'), '-c', 'user.name=a', '-c', 'user.email=a@b'];
  await git(...at, 'commit', '-q', '--allow-empty', '-m', 'first');
  const pushed = await git(...at, 'push', '-q', 'origin', 'HEAD:main');

  t.is(synced.status, 0, synced.stderr);
  t.is(readdirSync(join(fixture.directory, 'synced-there')).length, 50);
  t.deepEqual([cloned.status, pushed.status], [0, 0], cloned.stderr + pushed.stderr);
  t.is((await git('-C', join(fixture.directory, 'project.git'), 'log', '--format=%s', 'main')).stdout, 'first\n');
});

test.serial('ports of the machine are forwarded by ssh itself', async (t) => {
  const server = createServer((socket) => socket.end('from the machine')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
  });
  const local = await freePort();
  const running = fixture.start([
    'ssh',
    ...own(),
    '-N',
    '-o',
    'ExitOnForwardFailure=yes',
    '-L',
    `${local}:127.0.0.1:${(server.address() as AddressInfo).port}`,
    `${USERNAME}@${ALIAS}`,
  ]);
  t.teardown(() => {
    running.process.kill('SIGKILL');
  });
  const said = await until('the forward', async () => text(connect(local, '127.0.0.1')).catch(() => null));
  running.process.kill('SIGTERM');
  await running.ended; // the signal reaches ssh itself

  t.is(said, 'from the machine');
});

test.serial('ssh -p 22 leads to that port of the machine, and not to its agent', async (t) => {
  const refused = await ssh('-p', '9', person(), 'true');

  t.is(refused.status, 255);
  t.regex(refused.stderr, /^edge: Port 9 of the machine refuses [^\n]*\n/u);
});

test.serial('who may not log in is told by ssh, with its own exit status', async (t) => {
  const { status, stderr } = await fixture.edge('ssh', ...own(), 'stranger@web-1', '--', 'true');

  t.is(status, 255);
  t.regex(stderr, /Permission denied/u);
});

test.serial(
  'the configuration is written for its owner only, and read by ssh from the top of its own, once',
  async (t) => {
    const home = fixture.env['HOME'] ?? '';
    mkdirSync(join(home, '.ssh'), { recursive: true });
    writeFileSync(join(home, 'dotfile'), 'Host other\n  Port 2222\n');
    symlinkSync(join(home, 'dotfile'), join(home, '.ssh', 'config'));

    const written = await fixture.edge('ssh-config', '--cluster', 'fleet', '--write');
    const included = await fixture.edge('ssh-config', '--include');
    const again = await fixture.edge('ssh-config', '--include');
    const elsewhere = await fixture.edge('ssh-config', '--write', join(home, 'else where', 'c'));

    const file = join(home, '.ssh', 'edge_config');
    t.deepEqual(
      [written, included, again, elsewhere].map(({ status, stdout }) => [status, stdout]),
      [
        [0, ''],
        [0, ''],
        [0, ''],
        [0, ''],
      ],
    );
    t.regex(
      written.stderr,
      /^edge: .* is written; ssh reads it with this line at the top of ~\/\.ssh\/config .*: Include ".*edge_config"\n/u,
    );
    t.regex(included.stderr, /^edge: putting "Include .*\nedge: done; /u);
    t.regex(again.stderr, /it is there already/u);
    t.is(readFileSync(join(home, 'dotfile'), 'utf8'), `Include "${file}"\n\nHost other\n  Port 2222\n`);
    t.is(readlinkSync(join(home, '.ssh', 'config')), join(home, 'dotfile'));
    t.is(statSync(file).mode & 0o777, 0o600);
    t.regex(readFileSync(file, 'utf8'), /\nHost \*\.edge\.internal\n/u);
    t.true(existsSync(join(home, 'else where', 'c')));
  },
);

test.serial('no key is in the configuration, nor in the words of any program that is started', async (t) => {
  const running = startEdge(['ssh', ...own(), `${USERNAME}@${ALIAS}`, '--', 'echo begun; cat'], fixture.env, null);
  t.teardown(() => {
    running.process.kill('SIGKILL');
  });
  await once(running.process.stdout ?? process.stdin, 'data');
  const ours = readdirSync('/proc').filter(
    (entry) => /^\d+$/u.test(entry) && ofProcess(entry, 'environ').includes(fixture.directory),
  ); // those of other tests have the same keys
  const words = ours.map((pid) => ofProcess(pid, 'cmdline')).join('\n');
  running.process.kill('SIGTERM');
  await running.ended;

  t.true(words.includes('ProxyCommand=') && words.includes(`connect\0${fixture.host}`), words);
  for (const key of [fixture.env['EDGE_API_KEY'] ?? '', fixture.env['EDGE_PROXY_KEY'] ?? ''])
    t.false(words.includes(key) || readFileSync(config, 'utf8').includes(key));
});

function ofProcess(pid: string, file: 'cmdline' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // it ended, or is another user's
  }
}

/** A directory in which `edge` is this one. */
function edgeOnPath(): string {
  const directory = join(fixture.directory, 'bin');
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    join(directory, 'edge'),
    `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dirname, '../../../../cli/edge.ts')}' "$@"\n`,
    { mode: 0o755 },
  );
  return directory;
}
