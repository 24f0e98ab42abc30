import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { userInfo } from 'node:os';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import type { ClientChannel } from 'ssh2';
import { accountsOfMachine } from '../../../../agent/access/ssh/login/accounts.ts';
import { notDialled } from '../../../../transport/net/streams/dialled.ts';
import { freePort } from '../../../support/free-ports.ts';
import { peerTest } from '../../../support/peer-test.ts';
import { until } from '../../../support/until.ts';
import { connectRaw } from './raw-client.ts';
import { collect, withAlice } from '../../../support/agent/ssh-fixture.ts';
import type { SshServerFixture } from '../../../support/agent/ssh-fixture.ts';

const test = await peerTest('ssh', 'ssh-keygen', 'curl');

/** A server that does `talk` with each connection. */
async function target(t: ExecutionContext, talk: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    talk(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Answers with the hash of all it was sent, once that ended. */
async function hashing(t: ExecutionContext): Promise<number> {
  return target(t, (socket) => {
    void buffer(socket).then((bytes) => socket.end(createHash('sha256').update(bytes).digest('hex')));
  });
}

/** Starts ssh that only forwards, and waits until this port is open. */
async function forwarding(
  t: ExecutionContext,
  fixture: SshServerFixture,
  words: readonly string[],
  port: number,
): Promise<void> {
  const child = fixture.start(['-N', '-o', 'ExitOnForwardFailure=yes', ...words]);
  t.teardown(() => {
    child.kill();
  });
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
const HASH = createHash('sha256').update(BYTES).digest('hex');

test('-L carries bytes both ways, exactly and with half-close', async (t) => {
  const { fixture, words } = await withAlice(t);
  const [there, here] = [await hashing(t), await freePort()];
  await forwarding(t, fixture, ['-L', `127.0.0.1:${here}:127.0.0.1:${there}`, ...words], here);

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
  await forwarding(t, fixture, ['-L', `127.0.0.1:${here}:127.0.0.1:${there}`, ...words], here);
  const socket = connect({ port: here, host: '127.0.0.1', allowHalfOpen: true });
  const said = await text(socket);
  socket.end(BYTES);

  t.is(said, 'only this');
  t.is(
    createHash('sha256')
      .update(await got.promise)
      .digest('hex'),
    HASH,
  );
});

test('-D is a SOCKS proxy for curl, by name as well', async (t) => {
  const { fixture, words } = await withAlice(t);
  const there = await target(t, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nreached'));
  });
  const here = await freePort();
  await forwarding(t, fixture, ['-D', `127.0.0.1:${here}`, ...words], here);

  const end = await collect(
    spawn('curl', ['-sS', '--max-time', '20', '--socks5-hostname', `127.0.0.1:${here}`, `http://localhost:${there}/`], {
      env: { PATH: process.env['PATH'] },
    }),
  );

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

  const blocked = await fixture.ssh(['-o', 'LogLevel=INFO', '-W', 'blocked:80', ...words]);
  const refused = await fixture.ssh(['-o', 'LogLevel=INFO', '-W', 'closed:80', ...words]);

  t.regex(blocked.stderr, /open failed: administratively prohibited: This address must not be reached\./u);
  t.regex(refused.stderr, /open failed: connect failed: The connection was refused\./u);
});

test('-R leads from a port on loopback of the machine to the client, and closes with it', async (t) => {
  const { fixture, words } = await withAlice(t);
  const there = await hashing(t);
  const client = fixture.start(['-N', '-o', 'LogLevel=INFO', '-R', `*:0:127.0.0.1:${there}`, ...words]);
  const exit = once(client, 'close');
  t.teardown(() => {
    client.kill();
  });
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
      '-o',
      'ExitOnForwardFailure=yes',
      ...wanted.flatMap((port) => ['-R', `${port}:127.0.0.1:1`]),
      ...words,
    ]);

  const [low, many] = [await tryPorts(81), await tryPorts(...ports)];

  t.regex(low.stderr, /remote port forwarding failed for listen port 81/u);
  t.regex(many.stderr, new RegExp(`remote port forwarding failed for listen port ${ports[2]}`, 'u'));
});

test('an agent, X11 and sockets of the file system are not forwarded, and the session lives on', async (t) => {
  const { fixture, key, words } = await withAlice(t);
  const socket = join(fixture.directory, 'agent');
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  t.teardown(() => {
    agent.kill();
  });
  await until('the agent listens', () => existsSync(socket));

  const end = await fixture.ssh(
    ['-A', '-o', `ForwardAgent=${socket}`, ...words, 'echo "<$SSH_AUTH_SOCK$DISPLAY>"'],
    '',
    {
      SSH_AUTH_SOCK: socket,
    },
  );
  const client = await connectRaw(t, fixture.port, { username: 'alice', privateKey: readFileSync(key) });
  const local = await new Promise<unknown>((resolve) => {
    client.openssh_forwardOutStreamLocal('/run/nowhere', resolve);
  });

  t.deepEqual([end.status, end.stdout], [0, '<>\n']);
  t.true(local instanceof Error);
});

test('a connection has so many channels at once', async (t) => {
  const { fixture, key } = await withAlice(t, { limits: { channelsMax: 3 } });
  const there = await target(t, (socket) => {
    socket.pipe(socket);
  });
  const client = await connectRaw(t, fixture.port, { username: 'alice', privateKey: readFileSync(key) });
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
