/**
 * OpenSSH's programs at a machine behind an admin, with every kind of key, through either proxy by somebody else's
 * ProxyCommand.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ava from 'ava';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { through } from '../../support/net/reach-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  askpass,
  BY_PASSWORD,
  keyPair,
  options,
  publicKey,
  runClient,
  sshWords,
  startClient,
} from '../../support/ssh/openssh.ts';

const test = await peerTest('ssh', 'scp', 'sftp', 'rsync', 'ssh-keygen', 'ncat');
const scope = createScope();
const fleet = sharedFleet(ava, { agents: 1, agentEnv: { AGENT_ALIASES: 'web-1' } });
ava.after.always('the files go', () => scope.end());

const PASSWORD = 'a password with spaces & signs';
const KEYS: readonly (readonly [string, number | undefined])[] = [
  ['ed25519', undefined],
  ['ecdsa', 256],
  ['ecdsa', 384],
  ['ecdsa', 521],
  ['rsa', 2048],
  ['rsa', 4096],
];
let directory: string;
let node: NodeResource;
let keys: readonly string[];

test.before(async () => {
  directory = temporaryDirectory(scope);
  node = await fleet().node();
  keys = await Promise.all(KEYS.map(([type, bits], index) => keyPair(join(directory, `key-${index}`), type, bits)));
  await fleet().rest.post(`/nodes/${node.id}/ssh_usernames`, {
    username: 'deploy',
    password: PASSWORD,
    public_keys: keys.map((path, index) => ({ key_name: `key ${index}`, public_key: publicKey(path) })),
  });
});

/** Words of ssh, scp and sftp up to the host. */
const words = (key: string | null, ...way: [protocol?: 'http' | 'socks5', user?: string]): string[] => [
  ...sshWords(key),
  ...through(fleet().admin(), ...way),
  ...options(`Port=${node.ssh_port}`),
];
const alias = (): string => node.aliases[0]?.vpn_hostname ?? '';

test.serial('every kind of key that people have logs in, through either proxy, by either kind of name', async (t) => {
  for (const [index, key] of keys.entries()) {
    const host = index % 2 === 0 ? node.vpn_hostname : alias().replace('.fleet.', '.CLUSTER-fleet.');
    const { status, stdout, stderr } = await runClient(
      t,
      'ssh',
      [...words(key, index % 2 === 0 ? 'http' : 'socks5'), `deploy@${host}`, 'cat; exit 3'],
      'through and through',
    );
    t.deepEqual([status, stdout], [3, 'through and through'], `${KEYS[index]?.join(' ')}: ${stderr}`);
  }
});

test.serial('a password logs in', async (t) => {
  const { status, stdout, stderr } = await runClient(
    t,
    'ssh',
    [...words(null), ...BY_PASSWORD, `deploy@${alias()}`, 'echo in'],
    '',
    askpass(directory, PASSWORD),
  );

  t.deepEqual([status, stdout], [0, 'in\n'], stderr);
});

test.serial('files come through whole, by the new scp, the old scp, sftp and rsync', async (t) => {
  const content = randomBytes(5_000_000);
  const source = join(directory, 'source');
  writeFileSync(source, content);
  mkdirSync(join(directory, 'there'));
  const [first = ''] = keys;
  const at = `deploy@${alias()}`;
  const there = (name: string): string => join(directory, 'there', name);

  const shell = ['ssh', ...words(first)].map((word) => `'${word}'`).join(' ');

  const ends = [
    await runClient(t, 'scp', ['-q', ...words(first), source, `${at}:${there('new')}`]),
    await runClient(t, 'scp', ['-q', '-O', ...words(first, 'socks5'), source, `${at}:${there('old')}`]),
    await runClient(t, 'sftp', ['-q', ...words(first), '-b', '-', at], `put ${source} ${there('sftp')}\n`),
    await runClient(t, 'rsync', ['-a', '-e', shell, source, `${at}:${there('rsync')}`]),
  ];

  t.deepEqual(
    ends.map(({ status, stderr }) => ({ status, stderr })),
    ends.map(() => ({ status: 0, stderr: '' })),
  );
  for (const name of ['new', 'old', 'sftp', 'rsync']) t.true(readFileSync(there(name)).equals(content), name);
});

test.serial(
  'sessions share one connection, as ControlMaster of ssh has it, and 20 of them at once are told apart',
  async (t) => {
    const [first = ''] = keys;
    const shared = [...words(first), ...options(`ControlPath=${join(directory, 'control')}`), `deploy@${alias()}`];
    const master = startClient(t, 'ssh', [...options('ControlMaster=yes'), '-N', ...shared]);
    await until(
      'the shared connection',
      async () => (await runClient(t, 'ssh', ['-O', 'check', ...shared])).status === 0,
    );

    const said = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        runClient(t, 'ssh', [...shared, `cat; echo ${index}`], randomBytes(20_000).toString('hex')),
      ),
    );
    master.kill();

    t.deepEqual(
      said.map(({ status, stdout }) => [status, stdout.length > 40_000, stdout.slice(40_000).trim()]),
      said.map((_, index) => [0, true, String(index)]),
    );
  },
);

test.serial('no key of the admin but that of the proxies, and the master key, leads to a machine', async (t) => {
  const [first = ''] = keys;
  const as = (user: string) => runClient(t, 'ssh', [...words(first, 'http', user), `deploy@${alias()}`, 'echo in']);

  t.is((await as(`_:${FLEET_KEYS.MASTER_KEY}`)).stdout, 'in\n');
  for (const key of [FLEET_KEYS.API_KEY, FLEET_KEYS.METRICS_KEY, FLEET_KEYS.MCP_KEY, 'none']) {
    const { status, stdout, stderr } = await as(`_:${key}`);
    t.deepEqual([status, stdout], [255, '']);
    t.regex(stderr, /407|authentication|closed by/iu);
  }
});
