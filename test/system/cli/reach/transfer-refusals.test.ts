/** What goes wrong with files to machines and from them: a line a machine, and the others go on. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import ava from 'ava';
import { FLEET_KEYS } from '../../../support/fleet.ts';
import type { AgentProgram } from '../../../support/fleet/agent-program.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { sharedFleet } from '../../../support/shared-fleet.ts';
import { smallDisk } from '../../../support/small-disk.ts';
import { newKey } from '../../../support/ssh/ssh-keys.ts';
import { ALIAS } from './fixture.ts';
import { createTransferFixture, type TransferFixture } from './transfer-fixture.ts';

const test = await peerTest('ssh-keygen');

/** A disk that a file of FILE_BYTES does not fit on, in KiB. */
const DISK_KIB = 4_096;
const FILE_BYTES = 6_000_000;

const scope = createScope();
const fleet = sharedFleet(ava, { agents: 1, agentEnv: { AGENT_ALIASES: ALIAS } });
let fixture: TransferFixture;
let gone: AgentProgram;

test.before(async () => {
  gone = await fleet().addHealthyAgent({ AGENT_ALIASES: 'gone' });
  fixture = await createTransferFixture(scope, fleet(), [fleet().agent(), gone]);
  await gone.kill(); // it takes its time to be noticed
  writeFileSync(at('large'), Buffer.alloc(FILE_BYTES, 'x'));
  writeFileSync(at('small'), 'small');
});

ava.after.always('its files go', () => scope.end());

const at = (...path: string[]): string => fixture.at(...path);

/** What was said of machines, without the last line, and the status. */
function told({ status, stderr }: { readonly status: number | null; readonly stderr: string }): readonly unknown[] {
  return [status, ...stderr.trimEnd().split('\n').slice(0, -1)];
}

/** Has the service tell another host key, or none, until the test is over. */
async function tells(t: { teardown(end: () => Promise<unknown>): void }, key: string | null): Promise<string> {
  const before = (await fleet().node()).facts?.ssh_host_key ?? '';
  const set = (value: string | null) =>
    fleet().sql(`update node_facts set facts = jsonb_set(facts, '{ssh_host_key}', '${JSON.stringify(value)}')`);
  t.teardown(() => set(before));
  await set(key);
  return before;
}

test.serial('a machine that is away fails alone, and the same again goes on', async (t) => {
  const { status, stdout, stderr } = await fixture.push(at('small'), '--all', '--to', at('for all'));

  t.is(status, 7, stderr);
  t.regex(stdout, /^web-1: [^\n]+\n$/u);
  t.regex(stderr, /^edge: gone: [^\n]+\nedge: 1 of 2 done, 1 not reached to the end, 5 B, \d+\.\d s\n$/u);
  t.is(readFileSync(at('for all'), 'utf8'), 'small');
});

test.serial('a full disk is told, and what was begun goes away again', async (t) => {
  const [there, here] = [smallDisk(t, DISK_KIB), smallDisk(t, DISK_KIB)];
  if (there === null || here === null) return t.log('no file system may be mounted here');

  const push = await fixture.push(at('large'), '-n', `web-1:${there}/`);
  const pull = await fixture.pull('-n', `web-1:${at('large')}`, here);

  t.deepEqual(told(push), [6, `edge: web-1: the disk is full: ${there}/large was not written`]);
  t.deepEqual(told(pull), [6, `edge: web-1: the disk of this machine is full: ${here}/web-1/large was not written`]);
  t.deepEqual([readdirSync(there), readdirSync(`${here}/web-1`)], [[], []]);
  return undefined;
});

test.serial('paths of a machine that lead nowhere are told', async (t) => {
  mkdirSync(at('directory', 'small'), { recursive: true });
  mkdirSync(at('in the way'));
  writeFileSync(at('in the way', 'web-1'), '');
  const push = async (path: string) => told(await fixture.push(at('small'), '-n', 'web-1', '--to', path));
  const pull = async (path: string, into = at('pulled')) =>
    told(await fixture.pull('-n', 'web-1', '--from', path, into));

  t.deepEqual(await push(at('none/')), [6, `edge: web-1: there is no directory ${at('none/')}`]);
  t.deepEqual(await push(at('none', 'x')), [6, `edge: web-1: there is no directory for ${at('none', 'x')}`]);
  t.deepEqual(await push(at('small/')), [6, `edge: web-1: there is no directory ${at('small/')}`]);
  t.deepEqual(told(await fixture.push(at('small'), at('large'), '-n', 'web-1', '--to', at('small'))), [
    6,
    `edge: web-1: ${at('small')} is no directory`,
  ]);
  t.deepEqual(await push(at('directory')), [6, `edge: web-1: ${at('directory', 'small')} is a directory`]);
  t.deepEqual(await push('/sys/kernel/x'), [6, 'edge: web-1: no permission to write /sys/kernel/x']);
  t.deepEqual(await pull(at('none')), [6, `edge: web-1: there is no file ${at('none')}`]);
  t.deepEqual(await pull(at('directory')), [
    6,
    `edge: web-1: ${at('directory')} is a directory: pack it with tar, or copy it with edge cp -r`,
  ]);
  t.deepEqual(await pull('/dev/null'), [6, 'edge: web-1: /dev/null is no file that could be copied']);
  t.deepEqual(await pull('/proc/uptime'), [
    6,
    'edge: web-1: /proc/uptime has no length: edge run -- cat /proc/uptime shows it',
  ]);
  t.deepEqual(await pull(at('small'), at('in the way')), [
    6,
    `edge: web-1: cannot write ${at('in the way', 'web-1', 'small')} on this machine: a file is in the way`,
  ]);
});

test.serial('a machine that has another host key than the service tells gets nothing', async (t) => {
  await tells(t, newKey('').line.trim());

  const { status, stdout, stderr } = await fixture.push(at('small'), '-n', 'web-1', '--to', at('for nobody'));

  t.deepEqual([status, stdout], [6, '']);
  const [changed = '', refused = ''] = stderr.split('\n');
  t.regex(changed, /^edge: the host key of web-1 is another one than before, as the service says: /u);
  t.regex(
    refused,
    /^edge: web-1: what answers has another host key \(SHA256:\S+\) than the service tells \(SHA256:\S+\): nothing was sent$/u,
  );
});

test.serial('where the service knows no host key, the first one is trusted, hashed or not', async (t) => {
  const key = await tells(t, null);
  const { vpn_hostname: host } = await fleet().node();
  const known = at('con fig', 'edge', 'known_hosts');
  const push = () => fixture.push(at('small'), '-n', 'web-1', '--to', at('first'));

  t.is((await push()).status, 0);
  t.is(readFileSync(known, 'utf8'), `${host} ${key}\n`);
  await fixture.run('ssh-keygen', ['-H', '-f', known]);
  t.regex(readFileSync(known, 'utf8'), /^\|1\|/u);
  t.is((await push()).status, 0);
  writeFileSync(known, `${host} ${newKey('').line.trim()}\n`);

  t.regex(
    (await push()).stderr,
    /^edge: web-1: what answers has another host key \(\S+\) than was seen first: nothing was sent\n/u,
  );
});

test.serial('a wrong key of the proxy is told once, for all machines', async (t) => {
  const ended = await fixture.start(t, ['push', ...fixture.login, at('small'), '--all', '--to', at('x')], '', {
    EDGE_PROXY_KEY: `${FLEET_KEYS.PROXY_KEY}x`,
  }).ended;

  t.is(ended.status, 3);
  t.regex(ended.stderr, /^edge: the proxy \S+ does not accept this key: [^\n]+\n$/u);
});
