/** Clients that say what is not for a server, or not for now: they cost next to nothing, and their connection ends. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import ssh2 from 'ssh2';
import { SSH_LIMITS } from '../../../../agent/access/ssh/limits.ts';
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

  const costs = [
    await costOf(before.client, () => {
      sendPayload(before.client, told);
      sendPayload(before.client, payloadOf(MESSAGE.infoResponse, uint32(0))); // ends the connection
    }),
    await costOf(after, () => sendPayload(after, told)),
  ];

  t.regex(costs.map(({ message }) => message).join(', '), /not for now \(61\).*not for now \(80\)/u);
  for (const { ms } of costs) t.true(ms < CHEAP_MS_MAX, `${ms} ms`);
  t.true(await logsIn(port, LOGIN.username, LOGIN.password));
});

test.serial('whoever asks before the login whether the server lives gets in all the same', async (t) => {
  const { port } = await withAlice(t);
  const client = new ssh2.Client();
  t.teardown(() => void client.destroy());
  const keepAlive = payloadOf(MESSAGE.globalRequest, sshString('keepalive@lag.net'), Buffer.of(0)); // as paramiko does it
  const authHandler = (): ssh2.AnyAuthMethod => {
    sendPayload(client, keepAlive);
    return { type: 'password', ...LOGIN };
  };

  client.connect({ host: '127.0.0.1', port, username: LOGIN.username, authHandler });
  await once(client, 'ready');

  t.pass();
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

test.serial('keys that are only offered are no failed logins, whatever their kind; signatures are', async (t) => {
  const own = Object.values(networkInterfaces()).flat();
  const host = own.find((address) => address?.internal === false && address.family === 'IPv4')?.address ?? '127.0.0.1';
  const fixture = await startSshFixture(t, { hosts: [host], limits: { triesMax: 100 } });
  fixture.user(LOGIN.username, [], LOGIN.password);
  const { port, server } = fixture;
  const logIn = async () => connectRaw(t, port, { ...LOGIN, host });

  const kinds = ['sk-ssh-ed25519@openssh.com', 'ssh-ed25519-cert-v01@openssh.com', 'ssh-dss', 'ssh-rsa', 'ssh-ed25519'];
  const hostbased = loginRequest('hostbased', ...['ssh-ed25519', 'key', 'host', 'user', 'signature'].map(sshString));
  const noLogins = [...kinds.map((kind) => offer(kind)), loginRequest('keyboard-interactive'), hostbased];
  await tryAll(t, { host, port }, Array.from({ length: 5 }, () => noLogins).flat());
  await logIn();
  t.is(server.counters.authentications, 1);

  const signed = Array.from({ length: SSH_LIMITS.failuresMax + 1 }, () => offer('sk-ssh-ed25519@openssh.com', 'wrong'));
  await tryAll(t, { host, port }, signed);
  t.is(server.counters.authentications, 1 + signed.length);
  if (host !== '127.0.0.1') await t.throwsAsync(logIn); // who comes from there is never shut out
});

/** An SSH public key of any kind, which is shown, with a signature or without. */
function offer(kind: string, signature?: string): Buffer {
  const key = [kind, Buffer.concat([sshString(kind), sshString(Buffer.alloc(32))])].map((part) => sshString(part));
  const signs =
    signature === undefined ? [] : [sshString(Buffer.concat([kind, signature].map((part) => sshString(part))))];
  return loginRequest('publickey', Buffer.of(signs.length), ...key, ...signs);
}

/** Says these over one connection, each once the one before was refused. Resolves once all are. */
async function tryAll(t: ExecutionContext, place: { host: string; port: number }, logins: Buffer[]): Promise<void> {
  const left = [...logins];
  const client = new ssh2.Client();
  t.teardown(() => void client.destroy());
  await new Promise<void>((resolve, reject) => {
    const authHandler = (methods: unknown): ssh2.AnyAuthMethod | undefined => {
      if (methods === null) return { type: 'none', username: LOGIN.username }; // what is refused first
      const next = left.shift();
      if (next === undefined) resolve();
      else sendPayload(client, next);
      return undefined;
    };
    client
      .on('error', reject)
      .once('close', () => reject(new Error('it was cut')))
      .connect({ ...place, username: LOGIN.username, readyTimeout: 0, authHandler });
  });
  client.destroy();
}

function loginRequest(method: string, ...more: readonly Buffer[]): Buffer {
  const words = [LOGIN.username, 'ssh-connection', method].map((word) => sshString(word));
  return payloadOf(MESSAGE.loginRequest, ...words, ...(more.length === 0 ? [sshString(''), sshString('')] : more));
}
