/**
 * Who is logged in to a machine, as its SSH server tells it: with what is open now, and nothing of what is over.
 *
 * Promises: R3.
 */
import { once } from 'node:events';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { ClientChannel } from 'ssh2';
import { RecordingSpool } from '../../../../agent/access/ssh/recording/spool.ts';
import {
  SSH_SESSION_AGE_MS_MAX,
  SSH_SESSIONS_BYTES_MAX,
  SSH_SESSIONS_TOLD_MAX,
  SshSessions,
  type SshSession,
} from '../../../../transport/protocol/ssh-sessions.ts';
import type { SshRecordingSettings } from '../../../../transport/protocol/ssh.ts';
import { startSshFixture, type SshServerFixture } from '../../../support/agent/ssh-fixture.ts';
import { target } from '../../../support/net/listening.ts';
import { connectRaw, execRaw, shellRaw } from '../../../support/ssh/raw-ssh-client.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const PASSWORD = 'a-password-of-who-is-told';

const NOTHING = {
  account: userInfo().username,
  client_address: '127.0.0.1',
  shells: 0,
  commands: 0,
  file_transfers: 0,
  forwarded_connections: 0,
  forwarded_ports: 0,
  is_recorded: false,
};

/** What is told, without ages. */
function told({ server }: SshServerFixture): readonly Omit<SshSession, 'age_ms'>[] {
  return server.sessions().sessions.map(({ age_ms: _ageMs, ...session }) => session);
}

/** Waits until this is told of the one who is there. What ends is told a moment later. */
async function tells(fixture: SshServerFixture, open: Partial<SshSession>): Promise<void> {
  await until(`that it tells ${JSON.stringify(open)}`, () => {
    const [only] = told(fixture);
    return Object.entries(open).every(([field, value]) => only?.[field as keyof typeof only] === value);
  });
}

test('what is open on a connection is counted by its kind, as long as it is open', async (t) => {
  const spool = new RecordingSpool(join(temporaryDirectory(t), 'spool'));
  const fixture = await startSshFixture(t, {
    limits: { hangUpMs: 100 },
    recording: { spool, settings: () => ({ mode: 'all', bytes_max: 65_536, ms_max: 60_000 }) },
  });
  fixture.user('alice', [], PASSWORD);
  t.deepEqual(fixture.server.sessions(), { session_count: 0, sessions: [] });
  const client = await connectRaw(t, fixture.port, { username: 'alice', password: PASSWORD });
  t.deepEqual(told(fixture), [{ username: 'alice', ...NOTHING }]);

  await new Promise<void>((resolve, reject) => {
    client.sftp((error) => (error === undefined ? resolve() : reject(error)));
  });
  t.deepEqual(told(fixture), [{ username: 'alice', ...NOTHING, file_transfers: 1 }], 'files are not recorded');
  const { channel: shell } = await shellRaw(client);
  const commands = [await execRaw(client, 'cat'), await execRaw(client, 'cat')];
  const port = await target(t, (socket) => socket.resume());
  const stream = await new Promise<ClientChannel>((resolve, reject) => {
    client.forwardOut('127.0.0.1', 1, '127.0.0.1', port, (error, channel) =>
      error === undefined ? resolve(channel) : reject(error),
    );
  });
  const forwarded = await new Promise<number>((resolve, reject) => {
    client.forwardIn('127.0.0.1', 0, (error, got) => (error === undefined ? resolve(got) : reject(error)));
  });
  const all = { shells: 1, commands: 2, file_transfers: 1, forwarded_connections: 1, forwarded_ports: 1 };
  await tells(fixture, { is_recorded: true });
  t.deepEqual(told(fixture), [{ username: 'alice', ...NOTHING, ...all, is_recorded: true }]);
  t.true(SshSessions.safeParse(JSON.parse(JSON.stringify(fixture.server.sessions()))).success);

  commands[0]?.end();
  await tells(fixture, { ...all, commands: 1 });
  commands[1]?.end();
  shell.end('exit\n');
  await tells(fixture, { ...all, commands: 0, shells: 0, is_recorded: false });
  stream.end();
  stream.destroy();
  client.unforwardIn('127.0.0.1', forwarded, () => {});
  await tells(fixture, { forwarded_connections: 0, forwarded_ports: 0, file_transfers: 1 });
  client.end();
  await once(client, 'close');
  await until('that nobody is there', () => fixture.server.sessions().session_count === 0);
  t.deepEqual(told(fixture), []);
});

test('what is recorded no more, as there is too much of it or for too long, is not told to be', async (t) => {
  const spool = new RecordingSpool(join(temporaryDirectory(t), 'spool'));
  let settings: SshRecordingSettings = { mode: 'all', bytes_max: 1_000, ms_max: 600_000 };
  const fixture = await startSshFixture(t, { recording: { spool, settings: () => settings } });
  fixture.user('alice', [], PASSWORD);
  const client = await connectRaw(t, fixture.port, { username: 'alice', password: PASSWORD });

  const much = await execRaw(client, 'cat');
  await tells(fixture, { commands: 1, is_recorded: true });
  much.write('x'.repeat(2_000));
  await tells(fixture, { commands: 1, is_recorded: false });
  settings = { ...settings, ms_max: 1 };
  await execRaw(client, 'cat');

  await tells(fixture, { commands: 2, is_recorded: false });
  t.deepEqual(told(fixture), [{ username: 'alice', ...NOTHING, commands: 2 }]);
});

/** As Node throws where no file can be opened any more. */
const unreadable = (): never => {
  throw new Error('A system error occurred: uv_interface_addresses returned Unknown system error 24');
};

for (const [who, vpnAddresses] of [
  ['who comes through the VPN of this machine', () => ['127.0.0.1']],
  ['who comes while the machine does not tell its interfaces', unreadable],
] as const)
  test(`${who} is let in, and told without an address`, async (t) => {
    const fixture = await startSshFixture(t, { vpnAddresses });
    fixture.user('alice', [], PASSWORD);

    await connectRaw(t, fixture.port, { username: 'alice', password: PASSWORD });

    t.deepEqual(told(fixture), [{ username: 'alice', ...NOTHING, client_address: null }]);
  });

test('of many the latest are told and all are counted, and time goes on for each', async (t) => {
  const fixture = await startSshFixture(t, { limits: { sessionsToldMax: 2 } });
  for (const username of ['first', 'second', 'third']) {
    fixture.user(username, [], PASSWORD);
    await connectRaw(t, fixture.port, { username, password: PASSWORD });
  }

  const { session_count: count, sessions } = fixture.server.sessions();
  await until('that time went on', () => (fixture.server.sessions().sessions[0]?.age_ms ?? 0) > 20);

  t.is(count, 3);
  t.deepEqual(
    sessions.map(({ username }) => username),
    ['third', 'second'],
  );
  t.true((sessions[0]?.age_ms ?? 0) <= (sessions[1]?.age_ms ?? -1));
});

test('an answer that tells of more than it may is refused, and one of as many as it may is not too long', (t) => {
  const longest = {
    username: 'u'.repeat(64),
    age_ms: SSH_SESSION_AGE_MS_MAX,
    ...NOTHING,
    account: 'a'.repeat(32),
    client_address: '2001:db8:1111:2222:3333:4444:5555:6666',
  };
  const many = (count: number) => ({ session_count: 1_000, sessions: Array.from({ length: count }, () => longest) });

  t.true(SshSessions.safeParse(many(SSH_SESSIONS_TOLD_MAX)).success);
  t.true(JSON.stringify(many(SSH_SESSIONS_TOLD_MAX)).length < SSH_SESSIONS_BYTES_MAX);
  t.false(SshSessions.safeParse(many(SSH_SESSIONS_TOLD_MAX + 1)).success);
  t.false(SshSessions.safeParse({ ...many(2), session_count: 1 }).success);
});
