/**
 * Machines by OpenSSH and what builds on it: `edge ssh`, `edge cp`, and the configuration of `edge ssh-config`, from
 * end to end.
 */
import { randomBytes } from 'node:crypto';
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
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import ava from 'ava';
import { freePort } from '../../../support/net/free-ports.ts';
import { target } from '../../../support/net/listening.ts';
import { options } from '../../../support/ssh/openssh.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { procFile, processIds } from '../../../support/processes.ts';
import { createScope } from '../../../support/scope.ts';
import { sharedFleet } from '../../../support/shared-fleet.ts';
import { until } from '../../../support/until.ts';
import { inTerminal } from '../fixture.ts';
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
  config = at('ssh_config');
  writeFileSync(config, stdout);
});

ava.after.always('its files go', () => scope.end());

/** Options of `edge ssh` and `edge cp`, for which no configuration of this machine counts. */
const own = (): readonly string[] => ['-F', 'none', ...login];
const byConfig = (program: string, words: readonly string[], input?: string) =>
  fixture.run(program, ['-q', '-F', config, ...login, ...words], input);
const person = (): string => `${USERNAME}@${fixture.host}`;
const byAlias = `${USERNAME}@${ALIAS}`;
const at = (...path: string[]): string => join(fixture.directory, ...path);

test.serial(
  'a command runs on a machine by alias, alias with cluster, id or host name, and its exit status comes through',
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
      const words = [`${USERNAME}@${name}`, '--', 'echo out; echo err >&2; exit 7'];
      const { status, stdout, stderr } = await fixture.edge('ssh', ...own(), ...words);
      t.deepEqual([status, stdout], [7, 'out\n'], stderr);
      t.regex(stderr, /(?:^|\n)err\n$/u);
    }
  },
);

test.serial(
  'options of ssh go through before and after the machine, and words of the command as they are',
  async (t) => {
    const after = await fixture.edge('ssh', ALIAS, '-l', USERNAME, ...own(), '-v', 'printf %s', '"$0 x  y"', '-o');
    const quiet = await fixture.edge('ssh', ...own(), '-qT', `-l${USERNAME}`, ALIAS, '--', 'cat');

    t.deepEqual([after.status, /^\S+ x {2}y-o$/u.test(after.stdout), /debug1: /u.test(after.stderr)], [0, true, true]);
    t.deepEqual(quiet, { status: 0, stdout: '', stderr: '' });
  },
);

test.serial('a terminal is one on the machine too', async (t) => {
  const terminal = inTerminal(t, ['ssh', ...own(), '-t', byAlias, '--', 'tty; exit 5'], fixture.env);

  t.is(await terminal.ended, 5);
  t.regex(terminal.shown(), /\/dev\/pts\/\d+/u);
});

test.serial('files go to a machine and come back, directories too, and names with spaces', async (t) => {
  const [there, back] = [at('there'), at('back')];
  mkdirSync(at('tree', 'in ner'), { recursive: true });
  const content = randomBytes(3_000_000);
  writeFileSync(at('tree', 'in ner', 'a b'), content);

  const to = await fixture.edge('cp', '-q', ...own(), '-r', at('tree'), `${byAlias}:${there}`);
  const from = await fixture.edge('cp', '-qr', ...own(), `${USERNAME}@${fixture.node.vpn_hostname}:${there}`, back);
  const missing = await fixture.edge('cp', ...own(), `${byAlias}:${there}/none`, back);

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
    const [source, there, back] = [at('source'), at('plain'), at('plain-back')];
    writeFileSync(source, content);

    const run = await byConfig('ssh', [person(), 'echo $SSH_CONNECTION | wc -w; exit 3']);
    const copied = await byConfig('scp', [source, `${person()}:${there}`]);
    const fetched = await byConfig('sftp', ['-b', '-', person()], `get ${there} ${back}\n`);

    t.deepEqual([run.status, run.stdout], [3, '4\n'], run.stderr);
    t.is(copied.status, 0, copied.stderr);
    t.is(fetched.status, 0, fetched.stderr);
    t.true(readFileSync(back).equals(content));
  },
);

test.serial('rsync and git work by the configuration', async (t) => {
  const tree = at('synced');
  mkdirSync(tree);
  for (let index = 0; index < 50; index += 1) writeFileSync(join(tree, `file-${index}`), randomBytes(2_000));
  const shell = ['ssh', '-F', config, ...login].map((word) => `'${word}'`).join(' ');
  const git = (...words: string[]) =>
    fixture.run('git', words, '', { GIT_SSH_COMMAND: shell, GIT_CONFIG_NOSYSTEM: '1' });

  const synced = await fixture.run('rsync', ['-a', '-e', shell, `${tree}/`, `${person()}:${at('synced-there')}/`]);
  await git('init', '-q', '--bare', '-b', 'main', at('project.git'));
  const cloned = await git('clone', '-q', `${person()}:${at('project.git')}`, at('clone'));
  const inClone = ['-C', at('clone'), '-c', 'user.name=a', '-c', 'user.email=a@b'];
  await git(...inClone, 'commit', '-q', '--allow-empty', '-m', 'first');
  const pushed = await git(...inClone, 'push', '-q', 'origin', 'HEAD:main');

  t.is(synced.status, 0, synced.stderr);
  t.is(readdirSync(at('synced-there')).length, 50);
  t.deepEqual([cloned.status, pushed.status], [0, 0], cloned.stderr + pushed.stderr);
  t.is((await git('-C', at('project.git'), 'log', '--format=%s', 'main')).stdout, 'first\n');
});

test.serial('ports of the machine are forwarded by ssh itself', async (t) => {
  const port = await target(t, (socket) => socket.end('from the machine'));
  const local = await freePort();
  const forward = ['-N', ...options('ExitOnForwardFailure=yes'), '-L', `${local}:127.0.0.1:${port}`];
  const running = fixture.start(t, ['ssh', ...own(), ...forward, byAlias]);
  const said = await until('the forward', async () => text(connect(local, '127.0.0.1')).catch(() => null));
  running.process.kill('SIGTERM');
  await running.ended; // the signal reaches ssh itself

  t.is(said, 'from the machine');
});

test.serial('ssh -p 22 leads to that port of the machine, and not to its agent', async (t) => {
  const { status, stderr } = await byConfig('ssh', ['-p', '9', person(), 'true']);

  t.is(status, 255);
  t.regex(stderr, /^edge: Port 9 of the machine refuses [^\n]*\n/u);
});

test.serial('who may not log in is told how to change that, before ssh is started', async (t) => {
  const { status, stderr } = await fixture.edge('ssh', 'stranger@web-1', '--', 'true');

  t.is(status, 4);
  t.is(
    stderr,
    'edge: nobody named stranger may log in to web-1: edge sshuser add web-1 stranger -k @~/.ssh/id_ed25519.pub\n',
  );
});

test.serial(
  'who may not log in is told by ssh, with its own exit status, where other servers may be meant',
  async (t) => {
    const { status, stderr } = await fixture.edge('ssh', ...own(), 'stranger@web-1', '--', 'true');

    t.is(status, 255);
    t.regex(stderr, /Permission denied/u);
  },
);

test.serial(
  'the configuration is written for its owner only, and read by ssh from the top of its own, once',
  async (t) => {
    const home = (...path: string[]): string => at('home', ...path);
    mkdirSync(home('.ssh'), { recursive: true });
    writeFileSync(home('dotfile'), 'Host other\n  Port 2222\n');
    symlinkSync(home('dotfile'), home('.ssh', 'config'));

    const written = await fixture.edge('ssh-config', '--cluster', 'fleet', '--write');
    const included = await fixture.edge('ssh-config', '--include');
    const again = await fixture.edge('ssh-config', '--include');
    const elsewhere = await fixture.edge('ssh-config', '--write', home('else where', 'c'));

    const file = home('.ssh', 'edge_config');
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
      /^edge: ssh goes by edge to every host \*\.fleet\.edge\.internal from then on\nedge: .* is written; ssh reads it with this line at the top of ~\/\.ssh\/config .*: Include ".*edge_config"\n/u,
    );
    t.regex(included.stderr, /^edge: ssh goes by .*\nedge: putting "Include .*\nedge: done; /u);
    t.regex(again.stderr, /it is there already/u);
    t.is(readFileSync(home('dotfile'), 'utf8'), `Include "${file}"\n\nHost other\n  Port 2222\n`);
    t.is(readlinkSync(home('.ssh', 'config')), home('dotfile'));
    t.is(statSync(file).mode & 0o777, 0o600);
    t.regex(readFileSync(file, 'utf8'), /\nHost \*\.edge\.internal\n/u);
    t.true(existsSync(home('else where', 'c')));
  },
);

test.serial(
  'what is written for one service or cluster leaves that of others, and stands behind what is for fewer nodes',
  async (t) => {
    const file = at('several');
    const block = async (...words: string[]) => (await fixture.edge('ssh-config', ...words)).stdout;
    const [all, cluster] = [await block(), await block('--cluster', 'fleet')];
    const other = all.replaceAll('edge.internal', 'other.example');
    writeFileSync(file, `# mine\n${other.replace('accept-new', 'yes').trimEnd()}`);
    const written = [];

    for (const words of [[], ['--cluster', 'fleet'], [], ['--cluster', 'fleet']]) {
      await fixture.edge('ssh-config', ...words, '--write', file);
      written.push(readFileSync(file, 'utf8'));
    }

    const mine = other.replace('accept-new', 'yes');
    t.deepEqual(written, [
      `# mine\n${all}${mine}`,
      ...Array.from({ length: 3 }, () => `# mine\n${cluster}${all}${mine}`),
    ]);
  },
);

test.serial('no key is in the configuration, nor in the words of any program that is started', async (t) => {
  const running = fixture.start(t, ['ssh', ...own(), byAlias, '--', 'echo begun; cat'], null);
  await running.says();
  const ours = processIds().filter((pid) => procFile(pid, 'environ').includes(fixture.directory)); // others have the same keys
  const words = ours.map((pid) => procFile(pid, 'cmdline')).join('\n');
  running.process.kill('SIGTERM');
  await running.ended;

  t.true(words.includes('ProxyCommand=') && words.includes(`connect\0${fixture.host}`), words);
  for (const key of [fixture.env.EDGE_API_KEY, fixture.env.EDGE_PROXY_KEY])
    t.false(words.includes(key) || readFileSync(config, 'utf8').includes(key));
});
