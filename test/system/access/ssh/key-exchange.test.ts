/**
 * Clients that ask for new keys, and what is said meanwhile; and clients that end and read nothing: neither costs the
 * agent memory, or more of its one thread than it takes to carry their bytes.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { ClientChannel } from 'ssh2';
import ssh2 from 'ssh2';
import { SSH_LIMITS, type SshLimits } from '../../../../agent/access/ssh/limits.ts';
import { KEY_EXCHANGE_EARNED_BYTES, KEY_EXCHANGES_PER_MINUTE_MAX } from '../../../../transport/net/ssh/limits.ts';
import { startSshFixture } from '../../../support/agent/ssh-fixture.ts';
import { lives, procFile, writtenBytes } from '../../../support/processes.ts';
import { connectRaw, execRaw, type RawClient } from '../../../support/ssh/raw-ssh-client.ts';
import {
  hostKeysPayload,
  MESSAGE,
  payloadOf,
  sendPayload,
  sshString,
  uint32,
} from '../../../support/ssh/raw-payloads.ts';
import { until, untilStill } from '../../../support/until.ts';

const LOGIN = { username: 'alice', password: 'right and long enough' };

/** More than any buffer on the way, in bytes. */
const MUCH_BYTES = 50_000_000;

/** More key exchanges in a row than a slow machine is granted, as its minutes go on meanwhile. */
const EXCHANGES_MAX = 1_000;

/** More than one exchange takes of thirty, also on a slow machine, in ms. */
const EXCHANGE_MS_MAX = 3_000;

/** What ssh2 gives no types for. */
interface Speech {
  rekey(): void;
  channelWindowAdjust(channel: number, bytes: number): void;
}

function speechOf(client: RawClient): Speech {
  // eslint-disable-next-line no-underscore-dangle -- the name of an inside of ssh2
  return (client as unknown as { readonly _protocol: Speech })._protocol;
}

async function server(t: ExecutionContext, limits: Partial<SshLimits> = {}) {
  const fixture = await startSshFixture(t, { limits });
  fixture.user(LOGIN.username, [], LOGIN.password);
  return fixture;
}

function socketTo(t: ExecutionContext, port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  t.teardown(() => void socket.destroy());
  return socket;
}

/** Somebody who runs a program, which says its number first. */
async function running(t: ExecutionContext, port: number, program: string) {
  const socket = socketTo(t, port);
  const client = await connectRaw(t, port, { ...LOGIN, sock: socket });
  const channel: ClientChannel = await execRaw(client, `echo $$; ${program}`);
  const [pid] = (await once(channel, 'data')) as [Buffer];
  return { socket, client, channel, pid: Number.parseInt(String(pid), 10) };
}

/** What a connection is told at its end. */
function told(client: RawClient): Promise<string> {
  return new Promise((resolve) => {
    client.once('error', ({ message }) => resolve(message)).once('close', () => resolve('nothing'));
  });
}

test('a program waits while its client leaves an exchange of keys unfinished, and goes on behind it', async (t) => {
  const { port } = await server(t);
  const { socket, client, channel, pid } = await running(t, port, `read go; exec head -c ${MUCH_BYTES} /dev/zero`);
  let bytes = 0;
  channel.on('data', (data: Buffer) => (bytes += data.length));
  const ended = once(channel, 'exit');

  speechOf(client).channelWindowAdjust(0, 4 * MUCH_BYTES);
  channel.write('go\n');
  socket.pause();
  speechOf(client).rekey();
  await until('the program writes', () => procFile(pid, 'cmdline').startsWith('head'));
  const written = await untilStill('the program to wait', () => writtenBytes(pid));
  t.true(written < MUCH_BYTES / 2, `it has written ${written} bytes, which are kept at the agent`);
  socket.resume();

  t.deepEqual([await ended, bytes], [[0], MUCH_BYTES]);
});

test('a client that leaves an exchange of keys unfinished is cut, and what it runs ends', async (t) => {
  const fixture = await server(t, { keyExchangeMsMax: 200, hangUpMs: 100 });
  const { socket, client, pid } = await running(t, fixture.port, 'exec sleep 1000');

  socket.pause();
  speechOf(client).rekey();

  await until('nobody is in any more', () => fixture.server.grants().length === 0, 10_000);
  await until('the program is gone', () => !lives(pid));
  t.pass();
});

test('an exchange of keys may take as long as a client may say nothing', (t) => {
  t.is(SSH_LIMITS.keyExchangeMsMax, SSH_LIMITS.keepAliveMs * (SSH_LIMITS.keepAlivesMissedMax + 1));
});

test('new keys before the login end the connection', async (t) => {
  const { port } = await server(t);
  const client = new ssh2.Client();
  client.connect({ sock: socketTo(t, port), ...LOGIN, authHandler: () => {} });
  const end = told(client);
  await once(client, 'handshake');

  speechOf(client).rekey();

  t.regex(await end, /new keys before the login/u);
});

test('new keys without end, and nothing in between, end the connection', async (t) => {
  const { port } = await server(t);
  const client = await connectRaw(t, port, LOGIN);
  const end = told(client);

  let exchanges = 0;
  const again = (): void => {
    exchanges += 1;
    if (exchanges <= EXCHANGES_MAX) speechOf(client).rekey();
    else client.destroy();
  };
  client.on('handshake', again);
  again();

  t.regex(await end, /new keys too often/u);
  t.true(exchanges > KEY_EXCHANGES_PER_MINUTE_MAX, `${exchanges}`);
});

test('new keys after half a megabyte are never too many', async (t) => {
  const { port } = await server(t, { keyExchangeMsMax: EXCHANGE_MS_MAX });
  const { client, channel } = await running(t, port, 'exec cat > /dev/null');
  const cut = told(client);
  const exchanges = KEY_EXCHANGES_PER_MINUTE_MAX * 3;

  for (let count = 0; count < exchanges; count += 1) {
    await new Promise((resolve) => {
      channel.write(Buffer.alloc(KEY_EXCHANGE_EARNED_BYTES), resolve);
    });
    const done = once(client, 'handshake');
    speechOf(client).rekey();
    await done;
  }
  await delay(EXCHANGE_MS_MAX); // in this process, so that a timer which is still set is due before this one
  channel.end();

  t.deepEqual(await Promise.race([once(channel.resume(), 'exit'), cut]), [0]);
});

const CHANNEL_DATA = 94;
const BY_APPLICATION = 11;

for (const [what, payload] of Object.entries({
  'breaks the protocol': payloadOf(CHANNEL_DATA),
  'says what is not for a server': hostKeysPayload('key'),
  'says goodbye': payloadOf(MESSAGE.disconnect, uint32(BY_APPLICATION), sshString(''), sshString('')),
}))
  test(`a client that ${what} and reads nothing is gone at once, with what it runs`, async (t) => {
    const fixture = await server(t, { hangUpMs: 100 });
    const { socket, client, pid } = await running(t, fixture.port, 'exec yes');
    socket.pause();
    speechOf(client).channelWindowAdjust(0, 4 * MUCH_BYTES);
    await untilStill('the program to wait', () => writtenBytes(pid));

    sendPayload(client, payload);

    await until('the program is gone', () => !lives(pid), 2_000);
    t.deepEqual(fixture.server.grants(), []);
  });
