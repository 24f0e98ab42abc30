/** Clients that mean no good, and a machine on which something is wrong: nobody else is held up. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { openHostKey } from '../../../../agent/access/ssh/host-key.ts';
import { SSH_LIMITS } from '../../../../agent/access/ssh/limits.ts';
import {
  AddressLimits,
  FAILURE_DELAY_MS,
  FAILURE_WINDOW_MS,
} from '../../../../agent/access/ssh/login/address-limits.ts';
import { startSshFixture, withAlice } from '../../../support/agent/ssh-fixture.ts';
import { scaled } from '../../../support/busy.ts';
import { takenPort } from '../../../support/net/listening.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { lives } from '../../../support/processes.ts';
import { execRaw, logsIn, withRawAlice } from '../../../support/ssh/raw-ssh-client.ts';
import type { Scope } from '../../../support/scope.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('ssh', 'ssh-keygen');

/* eslint-disable no-underscore-dangle -- these are the names of ssh2's insides */
/** What ssh2 gives no types for. */
interface RawInsides {
  readonly _protocol: {
    readonly _cipher: unknown;
    channelData(channel: number, data: Buffer): void;
    session(channel: number, window: number, packetBytes: number): void;
    exec(channel: number, command: string, isAnswerWanted: boolean): void;
  };
}

function openSocket(t: Scope, port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  t.teardown(() => void socket.destroy());
  return socket;
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.destroyed) await once(socket.resume(), 'close');
}

test('the native crypto of ssh2 is there, and so are the insides that this server uses', async (t) => {
  const { bindingAvailable } = createRequire(import.meta.url)('ssh2/lib/protocol/crypto.js') as {
    bindingAvailable: boolean;
  };
  const { client } = await withRawAlice(t);

  t.true(bindingAvailable);
  t.not((client as unknown as RawInsides)._protocol._cipher, undefined);
});

test('garbage, silence and half a handshake hold up nobody, and end', async (t) => {
  // enough time for one that logs in
  const { fixture, words } = await withAlice(t, { limits: { loginMsMax: scaled(5_000) } });
  const broken = Buffer.concat([Buffer.from('SSH-2.0-broken\r\n'), Buffer.alloc(4, 0xff), randomBytes(1_000)]);
  const said = [randomBytes(100_000), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', '', 'SSH-2.0-half\r\n', broken];
  const sockets = said.map((bytes) => {
    const socket = openSocket(t, fixture.port);
    socket.write(bytes);
    return socket;
  });

  const end = await fixture.ssh([...words, 'echo in']);

  t.is(end.stdout, 'in\n');
  await Promise.all(sockets.map(closed));
});

test('beyond the limit of concurrent logins a new connection ends the oldest, so that idle clients keep nobody out', async (t) => {
  const fixture = await startSshFixture(t, { limits: { unauthenticatedMax: 3 } });
  const held: Socket[] = [];
  for (let count = 0; count < 3; count += 1) {
    const socket = openSocket(t, fixture.port);
    held.push(socket);
    await once(socket, 'data');
  }

  const [greeting] = (await once(openSocket(t, fixture.port), 'data')) as [Buffer];

  t.true(String(greeting).startsWith('SSH-2.0-'));
  await closed(held[0] as Socket);
  t.deepEqual(
    held.map((socket) => socket.destroyed || socket.readableEnded),
    [true, false, false],
  );
});

/** Whether a connection was let in; else it was told why not. */
const wasLetIn = (entered: (() => void) | string | undefined) => typeof entered === 'function';

test('addresses elsewhere have limits of their own, also those of one network of IPv6; loopback waits after failures', (t) => {
  let nowMs = 0;
  const addresses = new AddressLimits({ ...SSH_LIMITS, unauthenticatedPerAddressMax: 2, failuresMax: 2 }, () => nowMs);

  const enter = (address: string) => addresses.enter(address);
  const [leave, ...others] = ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1'].map(enter);
  t.deepEqual([leave, ...others].map(wasLetIn), [true, true, false]);
  t.deepEqual(['2001:db8::1', '2001:db8:0:0:ffff::2', '2001:db8::3', '2001:db8:0:1::3'].map(enter).map(wasLetIn), [
    true,
    true,
    false,
    true,
  ]);
  if (typeof leave === 'function') leave();
  t.true(wasLetIn(enter('192.0.2.1')));

  t.deepEqual(
    Array.from({ length: 3 }, () => addresses.fail('198.51.100.7')),
    [0, 0, FAILURE_DELAY_MS],
  );
  t.regex(String(enter('198.51.100.7')), /too many failed logins/u);
  t.deepEqual(
    Array.from({ length: 3 }, () => addresses.fail('127.0.0.1')),
    [0, 0, FAILURE_DELAY_MS],
  );
  t.true(wasLetIn(enter('127.0.0.1')));
  nowMs = FAILURE_WINDOW_MS;
  t.true(wasLetIn(enter('198.51.100.7')));
});

test('who was wrong too often from loopback waits, and who is right does not', async (t) => {
  const fixture = await startSshFixture(t, { limits: { failuresMax: 0 } });
  fixture.user('alice', [], 'right and long enough');
  const login = async (password: string) => {
    const beganMs = performance.now();
    const isIn = await logsIn(fixture.port, 'alice', password);
    return { isIn, ms: performance.now() - beganMs };
  };

  const [wrong, right] = [await login('wrong'), await login('right and long enough')];

  t.deepEqual([wrong.isIn, right.isIn], [false, true]);
  t.true(wrong.ms >= FAILURE_DELAY_MS && right.ms < scaled(FAILURE_DELAY_MS), `${wrong.ms} ms, ${right.ms} ms`);
});

test('who sends more than the window is cut, and memory does not grow', async (t) => {
  const { fixture, client } = await withRawAlice(t, { limits: { hangUpMs: 200 } });
  await execRaw(client, 'sleep 1000');
  const { _protocol: protocol } = client as unknown as RawInsides;
  const over = once(client, 'close');

  for (let sent = 0; sent < 5_000_000; sent += 32_768) protocol.channelData(0, Buffer.alloc(32_768));
  await over;

  await until('it is gone', () => fixture.server.grants().length === 0);
  t.pass();
});

test('the host key is made once and kept, for its owner only, and a damaged one stops SSH and says so', async (t) => {
  const path = join(temporaryDirectory(t), 'key');

  const [first, second] = [openHostKey(path), openHostKey(path)];
  const mode = statSync(path).mode & 0o777;
  chmodSync(path, 0o600);
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, 150));
  const damaged = openHostKey(path);
  const fixture = await startSshFixture(t, { hostKeyPath: path });

  t.true(
    first.ok && second.ok && first.fingerprint === second.fingerprint && /^SHA256:[\w+/]{43}$/u.test(first.fingerprint),
  );
  t.is(mode, 0o600);
  t.deepEqual(damaged, {
    ok: false,
    problem: `the SSH host key ${path} is damaged: restore it, or remove it so that a new one is made, of which every client will warn`,
  });
  t.is(fixture.server.problem, damaged.ok ? null : damaged.problem);
  t.is(fixture.port, 0);
  t.is(readFileSync(path, 'utf8').length, 150);
});

test('a port that is taken is told in one sentence, and other addresses are served', async (t) => {
  const port = await takenPort(t);

  const fixture = await startSshFixture(t, { port, hosts: ['127.0.0.1', '127.0.0.2'] });
  const [greeting] = (await once(
    connect(port, '127.0.0.2').on('error', () => {}),
    'data',
  )) as [Buffer];

  t.is(fixture.server.problem, `SSH does not listen on port ${port}: another program has it`);
  t.is(String(greeting), 'SSH-2.0-edge-agent\r\n');
});

test('the end of the server ends connections and processes within seconds', async (t) => {
  const { fixture, words } = await withAlice(t);
  const client = fixture.start([...words, 'trap "" HUP TERM; echo $$; sleep 1000']);
  const [pid] = (await once(client.stdout, 'data')) as [Buffer];
  const end = once(client, 'close');

  const beganMs = performance.now();
  await fixture.server.close();
  await end;

  t.true(performance.now() - beganMs < scaled(4_000));
  await until('the process is gone', () => !lives(Number(pid)), 1_000);
});

test('whoever was told goodbye and stays on the line is not heard any more (E5)', async (t) => {
  const { fixture, client } = await withRawAlice(t);
  const { _protocol: protocol } = client as unknown as RawInsides;
  const [grant] = fixture.server.grants();
  const path = join(fixture.directory, 'started');

  fixture.server.end([grant?.ssh_username_id ?? ''], []);
  protocol.session(0, 2_097_152, 32_768); // without waiting for an answer, as none will come
  protocol.exec(0, `touch ${path}`, false);
  const left = fixture.server.grants();

  t.deepEqual(left, []);
  await t.throwsAsync(until('the program ran', () => existsSync(path), 500));
});
