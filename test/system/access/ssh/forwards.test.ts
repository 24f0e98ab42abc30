/** Forwards of SSH: bytes both ways, what is refused, and how many there may be. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { ClientChannel } from 'ssh2';
import { accountsOfMachine } from '../../../../agent/access/ssh/login/accounts.ts';
import { notDialled } from '../../../../transport/net/streams/dialled.ts';
import { withAlice, type SshServerFixture } from '../../../support/agent/ssh-fixture.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { echo, hashing, sha256, target } from '../../../support/net/listening.ts';
import { options, runClient, startClient } from '../../../support/ssh/openssh.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { withRawAlice } from '../../../support/ssh/raw-ssh-client.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('ssh', 'ssh-keygen', 'curl');

/** Starts ssh that only forwards, and waits until this port is open. */
async function forwarding(fixture: SshServerFixture, words: readonly string[], port: number): Promise<void> {
  fixture.start(['-N', ...options('ExitOnForwardFailure=yes'), ...words]);
  await until('the port is open', async () => {
    const probe = connect(port, '127.0.0.1');
    await once(probe, 'connect');
    probe.destroy();
    return true;
  });
}

/** Sends bytes, ends, and reads what comes after that. */
async function converse(port: number, bytes: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end(bytes);
  return text(socket);
}

const BYTES = randomBytes(8_000_000);
const HASH = sha256(BYTES);

test('-L carries bytes both ways, exactly and with half-close', async (t) => {
  const { fixture, words } = await withAlice(t);
  const [there, here] = [await hashing(t), await freePort()];
  await forwarding(fixture, ['-L', `127.0.0.1:${here}:127.0.0.1:${there}`, ...words], here);

  t.deepEqual(await Promise.all([1, 2, 3].map(async () => converse(here, BYTES))), [HASH, HASH, HASH]);
});

test('a target that ends first is still sent what the client has', async (t) => {
  const { fixture, words } = await withAlice(t);
  const got = Promise.withResolvers<Buffer>();
  const there = await target(t, (socket) => {
    socket.end('only this');
    void (async () => {
      const bytes = await buffer(socket);
      if (bytes.length > 0) got.resolve(bytes); // the probe sends none
    })();
  });

  const here = await freePort();
  await forwarding(fixture, ['-L', `127.0.0.1:${here}:127.0.0.1:${there}`, ...words], here);
  const socket = connect({ port: here, host: '127.0.0.1', allowHalfOpen: true });
  const said = await text(socket);
  socket.end(BYTES);

  t.is(said, 'only this');
  t.is(sha256(await got.promise), HASH);
});

test('-D is a SOCKS proxy for curl, by name as well', async (t) => {
  const { fixture, words } = await withAlice(t);
  const there = await target(t, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nreached'));
  });
  const here = await freePort();
  await forwarding(fixture, ['-D', `127.0.0.1:${here}`, ...words], here);

  const way = ['--socks5-hostname', `127.0.0.1:${here}`];
  const end = await runClient(t, 'curl', ['-sS', '--max-time', '20', ...way, `http://localhost:${there}/`]);

  t.deepEqual(end, { status: 0, signal: null, stdout: 'reached', stderr: '' });
});

test('what cannot be reached, or must not be, is refused with the reason', async (t) => {
  const { fixture, words } = await withAlice(t, {
    egress: {
      dial: async ({ host }) =>
        host === 'blocked'
          ? notDialled('blocked', 'This address must not be reached.')
          : notDialled('refused', 'The connection was refused.'),
    },
  });

  const [blocked, refused] = [
    await fixture.ssh([...options('LogLevel=INFO'), '-W', 'blocked:80', ...words]),
    await fixture.ssh([...options('LogLevel=INFO'), '-W', 'closed:80', ...words]),
  ];

  t.regex(blocked.stderr, /open failed: administratively prohibited: This address must not be reached\./u);
  t.regex(refused.stderr, /open failed: connect failed: The connection was refused\./u);
});

test('-R leads from a port on loopback of the machine to the client, and closes with it', async (t) => {
  const { fixture, words } = await withAlice(t);
  const there = await hashing(t);
  const client = fixture.start(['-N', ...options('LogLevel=INFO'), '-R', `*:0:127.0.0.1:${there}`, ...words]);
  const exit = once(client, 'close');
  let said = '';
  client.stderr.on('data', (data: Buffer) => {
    said += String(data);
  });
  const [, port] = await until('the port is told', () => /Allocated port (\d+)/u.exec(said));

  const hash = await converse(Number(port), BYTES);
  client.kill();
  await exit;
  await until('the port is closed', async () =>
    once(connect(Number(port), '127.0.0.1'), 'connect').then(
      () => false,
      () => true,
    ),
  );

  t.is(hash, HASH);
});

test('a low port is for root, a port is not taken twice, and there are so many of a client', async (t) => {
  const { fixture, words } = await withAlice(t, {
    accounts: async () => ({ ...(await accountsOfMachine()(userInfo().username)), uid: 65_534 }),
    limits: { remoteForwardsMax: 2 },
  });
  const ports = [await freePort(), await freePort(), await freePort()];
  const tryPorts = async (...wanted: readonly (number | undefined)[]) =>
    fixture.ssh([
      '-N',
      ...options('ExitOnForwardFailure=yes'),
      ...wanted.flatMap((port) => ['-R', `${port}:127.0.0.1:1`]),
      ...words,
    ]);

  const [low, many] = [await tryPorts(81), await tryPorts(...ports)];

  t.regex(low.stderr, /remote port forwarding failed for listen port 81/u);
  t.regex(many.stderr, new RegExp(`remote port forwarding failed for listen port ${ports[2]}`, 'u'));
});

test('a forwarded port above 65535 is refused, and the next one is opened', async (t) => {
  const { client } = await withRawAlice(t);
  const forwardIn = promisify<string, number, number>(client.forwardIn.bind(client));

  await t.throwsAsync(forwardIn('127.0.0.1', 65_536));
  await t.throwsAsync(forwardIn('127.0.0.1', 4_294_967_295));

  t.true((await forwardIn('127.0.0.1', 0)) > 0);
});

test('an agent, X11 and sockets of the file system are not forwarded, and the session lives on', async (t) => {
  const { fixture, client, words } = await withRawAlice(t);
  const socket = join(fixture.directory, 'agent');
  startClient(t, 'ssh-agent', ['-D', '-a', socket]);
  await until('the agent listens', () => existsSync(socket));

  const end = await fixture.ssh(
    ['-A', ...options(`ForwardAgent=${socket}`), ...words, 'echo "<$SSH_AUTH_SOCK$DISPLAY>"'],
    '',
    { SSH_AUTH_SOCK: socket },
  );
  const local = await new Promise<unknown>((resolve) => {
    client.openssh_forwardOutStreamLocal('/run/nowhere', resolve);
  });

  t.deepEqual([end.status, end.stdout], [0, '<>\n']);
  t.true(local instanceof Error);
});

test('a connection has so many channels at once', async (t) => {
  const { client } = await withRawAlice(t, { limits: { channelsMax: 3 } });
  const there = await echo(t);
  const open = async () =>
    new Promise<ClientChannel>((resolve, reject) => {
      client.forwardOut('127.0.0.1', 1, '127.0.0.1', there, (error, channel) => {
        if (error) reject(error);
        else resolve(channel);
      });
    });
  const [first] = await Promise.all([open(), open(), open()]);

  const error = await t.throwsAsync<Error & { reason?: number }>(open());
  first.end();
  await once(first.resume(), 'close');

  t.deepEqual([error?.message, error?.reason], ['(SSH) Channel open failure: more than 3 channels at once', 4]);
  await t.notThrowsAsync(open());
});
