/** The host keys of machines: from the service where it knows them, else as they were seen first. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ava from 'ava';
import type { NodeResource } from '../../../../actors/resources/node.ts';
import { hostKeyFingerprint } from '../../../../cli/reach/host-keys.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { sharedFleet } from '../../../support/shared-fleet.ts';
import { newKey } from '../../../support/ssh/ssh-keys.ts';
import { allowLogin, ALIAS, createReachFixture, USERNAME, type ReachFixture } from './fixture.ts';

const test = await peerTest('ssh', 'ssh-keygen');

const scope = createScope();
const fleet = sharedFleet(ava, { agents: 1, agentEnv: { AGENT_ALIASES: ALIAS } });
let fixture: ReachFixture;
let login: readonly string[];
let config: string;

test.before(async () => {
  fixture = await createReachFixture(scope, fleet());
  login = await allowLogin(fleet(), fixture);
  config = join(fixture.directory, 'ssh_config');
  writeFileSync(config, (await fixture.edge('ssh-config')).stdout);
});

ava.after.always('its files go', () => scope.end());

const own = (...path: string[]): string => join(fixture.directory, 'con fig', 'edge', ...path);
const bySsh = (...words: string[]) => fixture.edge('ssh', '-F', 'none', ...login, `${USERNAME}@${ALIAS}`, ...words);
const byConfig = (...words: string[]) =>
  fixture.run('ssh', ['-q', '-F', config, ...login, `${USERNAME}@${fixture.host}`, ...words]);

/** The key that the service tells. */
async function told(): Promise<string> {
  return (await fleet().rest.get<NodeResource>(`/nodes/${fixture.node.id}`)).facts?.ssh_host_key ?? '';
}

/** Has the service tell another key, or none, until the test is over. */
async function tells(t: { teardown(end: () => Promise<unknown>): void }, key: string | null): Promise<void> {
  const set = (value: string | null) =>
    fleet().sql(`update node_facts set facts = jsonb_set(facts, '{ssh_host_key}', '${JSON.stringify(value)}')`);
  const before = await told();
  t.teardown(() => set(before));
  await set(key);
}

/** A key that is not this machine's. */
const strange = (): string => newKey('').line.trim();

test.serial('the service tells the key that the machine has', async (t) => {
  const line = readFileSync(join(fleet().agent().dataDirectory, 'ssh-host-key'), 'utf8');
  const path = join(fixture.directory, 'host-key');
  writeFileSync(path, line, { mode: 0o600 });

  const { stdout } = await fixture.run('ssh-keygen', ['-y', '-f', path]);

  t.is((await told()).split(' ')[1], stdout.trim().split(' ')[1]);
});

test.serial('ssh is given the key that the service tells, and nothing is trusted on first use', async (t) => {
  t.deepEqual(await bySsh('--', 'echo in'), { status: 0, stdout: 'in\n', stderr: '' });
  t.is((await byConfig('echo in')).stdout, 'in\n');

  t.is(
    readFileSync(own('host_keys', fixture.node.vpn_hostname), 'utf8'),
    `${fixture.node.vpn_hostname} ${await told()}\n`,
  );
  t.is(readFileSync(own('host_keys', `${fixture.host}.40022`), 'utf8'), `[${fixture.host}]:40022 ${await told()}\n`);
  t.false(existsSync(own('known_hosts')));
});

test.serial('a key that is another one than before is told in one line, and counts', async (t) => {
  const before = strange();
  const line = `edge: the host key of ${ALIAS} is another one than before, as the service says: ${hostKeyFingerprint(await told())}, and no longer ${hostKeyFingerprint(before)}\n`;
  writeFileSync(own('host_keys', fixture.node.vpn_hostname), `${fixture.node.vpn_hostname} ${before}\n`);
  writeFileSync(own('host_keys', `${fixture.host}.40022`), `[${fixture.host}]:40022 ${before}\n`);

  t.deepEqual(await bySsh('--', 'echo in'), { status: 0, stdout: 'in\n', stderr: line });
  t.deepEqual(await byConfig('echo in'), { status: 0, stdout: 'in\n', stderr: line });
  t.deepEqual(await bySsh('--', 'echo in'), { status: 0, stdout: 'in\n', stderr: '' });
});

test.serial('a machine with another key than the service tells is not talked to', async (t) => {
  await tells(t, strange());

  for (const ended of [await bySsh('--', 'echo in'), await byConfig('echo in')])
    t.deepEqual([ended.status, ended.stdout], [255, ''], ended.stderr);
  t.false(existsSync(own('known_hosts')));
});

test.serial('where the service knows no key, the first one is trusted', async (t) => {
  const key = await told();
  await tells(t, null);

  t.is((await bySsh('--', 'echo in')).stdout, 'in\n');
  t.is((await byConfig('echo in')).stdout, 'in\n');

  t.deepEqual(
    readFileSync(own('known_hosts'), 'utf8').trim().split('\n').toSorted(),
    [`${fixture.node.vpn_hostname} ${key}`, `[${fixture.host}]:40022 ${key}`].toSorted(),
  );
  t.false(existsSync(own('host_keys', fixture.node.vpn_hostname)));
  rmSync(own('known_hosts'));
});

test.serial('a key that is no line of ssh is not written anywhere', async (t) => {
  await tells(t, `${await told()} x`);

  t.deepEqual(await bySsh('--', 'true'), {
    status: 1,
    stdout: '',
    stderr: 'edge: the service says a host key that is none: nothing was written or started\n',
  });
});

test.serial('another server of the machine has keys of its own', async (t) => {
  const { stderr } = await bySsh('-v', '-p', String(fixture.node.ssh_port), '--', 'true');

  t.regex(stderr, /known_hosts/u);
  t.true(readFileSync(own('known_hosts'), 'utf8').startsWith(`${fixture.node.vpn_hostname} `));
});
