/**
 * Terminals of a node that another admin owns, opened at one that does not; and logins to it that end there, as they
 * are revoked.
 *
 * Promises: E5.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import ssh2 from 'ssh2';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { NodeSshSessionsResource } from '../../../actors/resources/ssh-session.ts';
import type { SshPublicKeyResource, SshUsernameResource } from '../../../actors/resources/ssh.ts';
import { openTerminal, terminalsByKey, type TerminalClient } from '../../support/api/terminal-client.ts';
import { BUSY_MS, scaled } from '../../support/busy.ts';
import { startEdge } from '../../support/edge-program.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { ownership, type Ownership } from '../../support/fleet/ownership.ts';
import { restClient, settledAnswer, type Rest } from '../../support/fleet/rest.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { allow as allowKey, wordsTo } from '../../support/net/reach-fixture.ts';
import { lives } from '../../support/processes.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { options, startClient } from '../../support/ssh/openssh.ts';
import { connectRaw, type RawClient } from '../../support/ssh/raw-ssh-client.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** What is revoked ends within this, in ms. Source: docs/promises.md, E5. */
const REVOKED_MS_MAX = 1_000 + BUSY_MS;

const openSsh = await peerTest('ssh', 'ssh-keygen');

const PASSWORD = 'a-password-of-a-terminal';

const scope = createScope();
let fleet: Fleet;
let admins: Ownership;
let node: NodeResource;
/** Of the admin that does not own the node. */
let elsewhere: Rest;

test.before('two admins and an agent start', async () => {
  fleet = await startFleet(scope, { admins: 2, agents: 1 });
  admins = await ownership(fleet);
  elsewhere = restClient(() => admins.other.url, FLEET_KEYS.MASTER_KEY);
  node = await fleet.node();
});
test.after.always('they end', () => scope.end());

const allow = (username: string): Promise<SshUsernameResource> =>
  elsewhere.post(`/nodes/${node.id}/ssh_usernames`, { username, password: PASSWORD });

const opened = (t: Scope, username: string, at: keyof Pick<Ownership, 'owner' | 'other'>): Promise<TerminalClient> =>
  openTerminal(t, admins[at].url, { node: node.id, username, password: PASSWORD });

/** What the shell of a terminal says to this, which it shows as it was typed too. */
async function says(terminal: TerminalClient, script: string, wanted: RegExp): Promise<string> {
  terminal.write('shell', `${script}\n`);
  const [, found = ''] = await until(`what ${script} says`, () => {
    const match = wanted.exec(terminal.shown());
    if (match === null) throw new Error(`it shows ${terminal.shown()}`);
    return match;
  });
  return found;
}

/** A program that runs in a terminal until it is ended. */
const sleepsIn = async (terminal: TerminalClient): Promise<number> =>
  Number(await says(terminal, 'echo "pid $$"; exec sleep 1009', /^pid (\d+)/mu));

/** The same of somebody who came by no admin. */
async function sleepsStraight(client: RawClient): Promise<number> {
  return new Promise((resolve, reject) => {
    client.exec('echo $$; exec sleep 1009', (error, channel) => {
      if (error !== undefined) reject(error);
      else channel.once('data', (data: Buffer) => resolve(Number(data.toString())));
    });
  });
}

openSsh.serial('who is logged in is told at both admins, with what is open, until it ends', async (t) => {
  const login = await allowKey(fleet, node.id, 'ada', temporaryDirectory(t));
  const forward = [...options('ExitOnForwardFailure=yes'), '-R', `${await freePort()}:127.0.0.1:1`];
  const client = startClient(t, 'ssh', [...forward, ...wordsTo(node, login), 'echo begun; cat']);
  await once(client.stdout, 'data');
  const told = (rest: Rest): Promise<NodeSshSessionsResource> => rest.get(`/nodes/${node.id}/ssh_sessions`);

  for (const rest of [restClient(() => admins.owner.url, FLEET_KEYS.MASTER_KEY), elsewhere]) {
    const { session_count: count, sessions, timestamp } = await told(rest);
    t.is(count, 1);
    t.like(sessions[0], { username: 'ada', account: userInfo().username, client_address: '127.0.0.1' });
    t.like(sessions[0], { shells: 0, commands: 1, file_transfers: 0, forwarded_connections: 0, forwarded_ports: 1 });
    t.false(sessions[0]?.is_recorded);
    t.true(Date.parse(sessions[0]?.connected_at ?? '') <= Date.parse(timestamp));
  }
  const service = { EDGE_URL: admins.other.url, EDGE_API_KEY: FLEET_KEYS.API_KEY };
  const shown = await startEdge(['node', 'sessions', node.id], service).ended;
  t.regex(shown.stdout, /^USERNAME +.*\nada +/u, shown.stderr);

  client.stdin.end();
  await until('that nobody is logged in', async () => (await told(elsewhere)).session_count === 0);
  t.deepEqual((await told(elsewhere)).sessions, []);
});

test.serial(
  'a terminal at an admin that does not own its node has a shell, takes a file, and tells its status',
  async (t) => {
    await allow('ops');
    const terminal = await opened(t, 'ops', 'other');
    const path = join(fleet.directory, 'uploaded');

    const sum = await says(terminal, 'echo "sum $((40 + 2))"', /^sum (\d+)/mu);
    terminal.say({ type: 'upload', path, replaces: false });
    await terminal.hears('uploading');
    terminal.write('file', 'over two admins');
    terminal.say({ type: 'uploaded' });
    const moved = await terminal.hears('moved');
    terminal.write('shell', 'exit 3\n');
    const exit = await terminal.hears('exit');
    const over = await terminal.hears('over');

    t.is(sum, '42');
    t.deepEqual([moved.bytes, readFileSync(path, 'utf8')], [15, 'over two admins']);
    t.deepEqual([exit.code, over.reason], [3, 'exited']);
  },
);

test.serial(
  'a key that is let in for a terminal at an admin that does not own the node opens it, and goes with it',
  async (t) => {
    const { id } = await allow('keyed');
    const keys = () => fleet.sql('select from ssh_public_key where ssh_username_id = $1', [id]);
    const open = await terminalsByKey(t, admins.other.url, { node: node.id, username: 'keyed' });

    const terminal = await open();
    const sum = await says(terminal, 'echo "sum $((40 + 2))"', /^sum (\d+)/mu);
    const during = await keys();
    terminal.socket.close();
    await until('the key to be gone', async () => (await keys()).length === 0);

    t.deepEqual([sum, during.length], ['42', 1]);
  },
);

/** Deletes at the admin that does not own the node, and waits for these ends: how long they took from the answer on. */
async function revoked(path: string, ends: readonly Promise<unknown>[], programs: readonly number[]): Promise<number> {
  const { status, text } = await settledAnswer(() => elsewhere.call('DELETE', path));
  if (status !== 204) throw new Error(`DELETE ${path} answered ${status}: ${text}`);
  const deletedMs = performance.now();
  await until('the end of what ran', () => !programs.some(lives), REVOKED_MS_MAX);
  await Promise.all(ends);
  return performance.now() - deletedMs;
}

test.serial(
  'deleting an SSH username at an admin that does not own the node ends its logins, through any admin or direct',
  async (t) => {
    const { id } = await allow('eve');
    await allow('sam');
    const stays = await opened(t, 'sam', 'owner');
    const terminals = [await opened(t, 'eve', 'owner'), await opened(t, 'eve', 'other')];
    const straight = await connectRaw(t, node.ssh_port, { username: 'eve', password: PASSWORD });
    const programs = [...(await Promise.all(terminals.map(sleepsIn))), await sleepsStraight(straight)];

    const ends = [once(straight, 'close'), ...terminals.map((terminal) => terminal.hears('over'))];
    const tookMs = await revoked(`/ssh_usernames/${id}`, ends, programs);

    t.true(tookMs < scaled(REVOKED_MS_MAX), `${tookMs} ms`);
    t.is(programs.length, 3);
    t.is(await says(stays, 'echo "still $((40 + 2))"', /^still (\d+)/mu), '42');
  },
);

test.serial(
  'an SSH key that is deleted at an admin that does not own the node ends its logins, and those by password stay',
  async (t) => {
    const { id } = await allow('kim');
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    const key = await elsewhere.post<SshPublicKeyResource>(`/ssh_usernames/${id}/ssh_public_keys`, {
      key_name: 'laptop',
      public_key: pair.public,
    });
    const stays = await opened(t, 'kim', 'other');
    const straight = await connectRaw(t, node.ssh_port, { username: 'kim', privateKey: pair.private });
    const program = await sleepsStraight(straight);

    const tookMs = await revoked(`/ssh_public_keys/${key.id}`, [once(straight, 'close')], [program]);

    t.true(tookMs < scaled(REVOKED_MS_MAX), `${tookMs} ms`);
    t.is(await says(stays, 'echo "still $((40 + 2))"', /^still (\d+)/mu), '42');
  },
);
