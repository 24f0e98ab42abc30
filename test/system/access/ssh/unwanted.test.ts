/** Clients that say what is not for a server, or not for now: they cost next to nothing, and their connection ends. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import ssh2 from 'ssh2';
import { FAILURE_DELAY_MS } from '../../../../agent/access/ssh/login/address-limits.ts';
import { startSshFixture, type SshServerFixture } from '../../../support/agent/ssh-fixture.ts';
import { connectRaw, execRaw, logsIn, type RawClient } from '../../../support/ssh/raw-ssh-client.ts';
import {
  hostKeysPayload,
  MESSAGE,
  payloadOf,
  sendPayload,
  slowKey,
  sshString,
  uint32,
} from '../../../support/ssh/raw-payloads.ts';

const LOGIN = { username: 'alice', password: 'right and long enough' };

/** Processor time of this process for what is refused without a look, in ms: a login alone takes 10 to 14. */
const CHEAP_MS_MAX = 300;

async function withAlice(t: ExecutionContext, limits = {}): Promise<SshServerFixture> {
  const fixture = await startSshFixture(t, { limits });
  fixture.user(LOGIN.username, [], LOGIN.password);
  return fixture;
}

/** A client that has exchanged keys, and does not log in. */
async function unauthenticated(t: ExecutionContext, port: number): Promise<{ client: RawClient; socket: Socket }> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  t.teardown(() => void socket.destroy());
  const client = new ssh2.Client();
  client.on('error', () => {});
  client.connect({ sock: socket, ...LOGIN, readyTimeout: 0, authHandler: () => {} });
  await once(client, 'handshake');
  return { client, socket };
}

/** What the connection of `client` is told at its end, and what that cost this process. */
async function costOf(client: RawClient, say: () => void) {
  const told = new Promise<string>((resolve) => {
    client.once('error', ({ message }) => resolve(message)).once('close', () => resolve('nothing'));
  });
  const rssBefore = process.memoryUsage.rss();
  const before = process.cpuUsage();
  say();
  const message = await told;
  const { user, system } = process.cpuUsage(before);
  return { message, ms: (user + system) / 1_000, bytes: process.memoryUsage.rss() - rssBefore };
}

test.serial('keys of a server that a client tells are not read, before the login and after it', async (t) => {
  const { port } = await withAlice(t);
  const told = hostKeysPayload(slowKey(8_600));
  const before = await unauthenticated(t, port);
  const after = await connectRaw(t, port, LOGIN);

  for (const client of [before.client, after]) {
    const { message, ms } = await costOf(client, () => sendPayload(client, told));
    t.regex(message, /not for here or not for now \(80\)/u);
    t.true(ms < CHEAP_MS_MAX, `${ms} ms`);
  }

  t.true(await logsIn(port, LOGIN.username, LOGIN.password));
});

test.serial('answers to questions that nobody asked take no memory, however many they are said to be', async (t) => {
  const { port } = await withAlice(t);
  const { client, socket } = await unauthenticated(t, port);

  const { message, ms, bytes } = await costOf(client, () => {
    socket.cork();
    sendPayload(client, loginRequest('keyboard-interactive'));
    sendPayload(client, payloadOf(MESSAGE.infoResponse, uint32(33_554_432)));
    socket.uncork();
  });

  t.regex(message, /not for here or not for now \(61\)/u);
  t.true(ms < CHEAP_MS_MAX, `${ms} ms`);
  t.true(bytes < 50_000_000, `${bytes} bytes`);
});

test.serial('logins that are tried once somebody is in are not heard', async (t) => {
  const { port } = await withAlice(t);
  const client = await connectRaw(t, port, LOGIN);

  for (const method of ['none', 'x'.repeat(30_000)]) sendPayload(client, loginRequest(method));
  const channel = await execRaw(client, 'exit 7');

  t.deepEqual(await once(channel.resume(), 'exit'), [7]);
});

test.serial('whoever hangs up before the answer has tried to log in all the same', async (t) => {
  const fixture = await withAlice(t, { failuresMax: 1 });
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<{ readonly accepted: false }>();
  fixture.verdict = async () => {
    fixture.verdict = null;
    asked.resolve();
    return answer.promise;
  };
  const { client, socket } = await unauthenticated(t, fixture.port);
  sendPayload(client, loginRequest('password', Buffer.of(0), sshString('wrong')));
  await asked.promise;

  socket.destroy();
  t.true(await logsIn(fixture.port, LOGIN.username, LOGIN.password)); // the server has seen that end when this one is in
  answer.resolve({ accepted: false });
  const beganMs = performance.now();
  t.false(await logsIn(fixture.port, LOGIN.username, 'wrong'));

  t.true(performance.now() - beganMs >= FAILURE_DELAY_MS, 'the second failure of a minute, where one is allowed');
  t.is(fixture.server.counters.authentications, 3);
});

function loginRequest(method: string, ...more: readonly Buffer[]): Buffer {
  const words = [LOGIN.username, 'ssh-connection', method].map((word) => sshString(word));
  return payloadOf(MESSAGE.loginRequest, ...words, ...(more.length === 0 ? [sshString(''), sshString('')] : more));
}
