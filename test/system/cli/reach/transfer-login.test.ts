/**
 * With which keys `edge push` and `edge pull` log in: the ssh-agent's, those of the person's own directory, and named
 * ones.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import ava from 'ava';
import { hostKeyFingerprint } from '../../../../cli/reach/host-keys.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { sharedFleet } from '../../../support/shared-fleet.ts';
import { newKey } from '../../../support/ssh/ssh-keys.ts';
import { until } from '../../../support/until.ts';
import { inTerminal } from '../fixture.ts';
import { ALIAS, USERNAME } from './fixture.ts';
import { createTransferFixture, type TransferFixture } from './transfer-fixture.ts';

const test = await peerTest('ssh-keygen', 'ssh-agent', 'ssh-add');

const PASSPHRASE = 'correct horse battery';

const scope = createScope();
const fleet = sharedFleet(ava, { agents: 1, agentEnv: { AGENT_ALIASES: ALIAS } });
let fixture: TransferFixture;

test.before(async () => {
  fixture = await createTransferFixture(scope, fleet(), [fleet().agent()]);
  writeFileSync(at('small'), 'small');
  mkdirSync(at('home', '.ssh'));
});

ava.after.always('its files go', () => scope.end());

const at = (...path: string[]): string => fixture.at(...path);

/** Words of a pull into a directory of its own, without a key. */
const words = (into: string): readonly string[] => ['pull', '-u', USERNAME, '-n', `web-1:${at('small')}`, at(into)];
const came = (into: string): boolean => existsSync(at(into, 'web-1', 'small'));

/** The key once more, with a passphrase. */
async function lockedKey(): Promise<string> {
  const path = at('locked key');
  copyFileSync(fixture.key, path);
  await fixture.run('chmod', ['600', path]);
  const { status, stderr } = await fixture.run('ssh-keygen', ['-q', '-p', '-P', '', '-N', PASSPHRASE, '-f', path]);
  if (status !== 0) throw new Error(stderr);
  return path;
}

test.serial('the usual keys of the person are tried, and those that cannot be used are left out', async (t) => {
  writeFileSync(at('home', '.ssh', 'id_rsa'), 'no key');
  copyFileSync(fixture.key, at('home', '.ssh', 'id_ed25519'));

  const { status, stderr } = await fixture.edge(...words('usual'));
  rmSync(at('home', '.ssh', 'id_ed25519'));
  const without = await fixture.edge(...words('usual'));

  t.is(status, 0, stderr);
  t.true(came('usual'));
  t.is(without.stderr, `edge: ${at('home', '.ssh', 'id_rsa')} is no private key that can be used here\n`);
  rmSync(at('home', '.ssh', 'id_rsa'));
});

test.serial('the keys of the ssh-agent are tried, and one that is gone is none', async (t) => {
  const socket = at('agent');
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  t.teardown(() => void agent.kill());
  await until('the ssh-agent', () => existsSync(socket));
  const added = await fixture.run('ssh-add', ['-q', fixture.key], '', { SSH_AUTH_SOCK: socket });

  const by = (into: string) => fixture.start(t, words(into), '', { SSH_AUTH_SOCK: socket }).ended;
  const { status, stderr } = await by('by agent');
  agent.kill();
  await until('its end', () => !existsSync(socket));
  const without = await by('without');

  t.deepEqual([added.status, status], [0, 0], stderr);
  t.true(came('by agent'));
  t.deepEqual([without.status, came('without')], [2, false]);
  t.regex(without.stderr, /^edge: there is no key to log in with: [^\n]+\n$/u);
});

test.serial('a key with a passphrase asks for it at a terminal, unseen, and says what to do elsewhere', async (t) => {
  const key = await lockedKey();

  const piped = await fixture.edge(...words('locked'), '-i', key);
  const asked = async (typed: string) => {
    const terminal = inTerminal(t, [...words('locked'), '-i', key], fixture.env);
    await until('the question', () => terminal.shown().includes('Passphrase of '));
    terminal.type(`${typed}\r`);
    return { status: await terminal.ended, shown: terminal.shown() };
  };
  const [wrong, right] = [await asked('wrong'), await asked(PASSPHRASE)];

  t.deepEqual(piped, {
    status: 2,
    stdout: '',
    stderr: `edge: the key ${key} has a passphrase: ssh-add ${key} unlocks it for all that follows\n`,
  });
  t.is(wrong.status, 2);
  t.regex(wrong.shown, /edge: this is not the passphrase of /u);
  t.is(right.status, 0, right.shown);
  t.false(right.shown.includes(PASSPHRASE));
  t.true(came('locked'));
});

test.serial('a host key that is another one than before is told in one line, and counts', async (t) => {
  const { vpn_hostname: host, facts } = await fleet().node();
  const file = at('con fig', 'edge', 'host_keys', host);
  const before = newKey('').line.trim();
  t.is(readFileSync(file, 'utf8'), `${host} ${facts?.ssh_host_key ?? ''}\n`);
  writeFileSync(file, `${host} ${before}\n`);

  const { status, stderr } = await fixture.pull('-n', `web-1:${at('small')}`, at('changed'));

  t.is(status, 0);
  t.is(
    stderr.split('\n')[0],
    `edge: the host key of web-1 is another one than before, as the service says: ${hostKeyFingerprint(facts?.ssh_host_key ?? '')}, and no longer ${hostKeyFingerprint(before)}`,
  );
  t.true(came('changed'));
});
