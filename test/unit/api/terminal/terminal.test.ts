/** Terminals by WebSocket: who gets in, what goes through, and every bound of them. The way to the node is played. */
import { once } from 'node:events';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import test from 'ava';
import { refuse } from '../../../../actors/refusal.ts';
import {
  AGE_MS_MAX,
  ENTRIES_MAX,
  GIVING_UP_MS_MAX,
  IDLE_MS_MAX,
  MESSAGES,
  OPENING_MS_MAX,
  TEXT_BYTES_MAX,
  WINDOW_BYTES,
} from '../../../../api/terminal/limits.ts';
import { TERMINAL_PATH } from '../../../../api/terminal/path.ts';
import { nodePlaces } from '../../../../api/terminal/sockets.ts';
import type { FileEntry } from '../../../../api/terminal/ports.ts';
import { KEYS } from '../../../support/api/fakes.ts';
import { until } from '../../../support/until.ts';
import { client, OPEN, openSession, served } from './fixture.ts';

test('a key that reaches the API lets in, over the protocol that is named', async (t) => {
  const { url } = await served(t);

  t.is((await client(t, url, { authorization: 'Bearer nobody-knows-this-key' })).status, 401);
  t.is((await client(t, url, { authorization: `Bearer ${KEYS.metrics}` })).status, 403);
  t.is((await client(t, url, { authorization: `Bearer ${KEYS.api}` }, ['edge.session.v1'])).status, 400);
  t.is((await client(t, url)).status, 101);
});

test('who is refused is told as by the rest of the API, also without an upgrade', async (t) => {
  const { url } = await served(t);
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
  const ask = async (method: string, headers: OutgoingHttpHeaders) => {
    const asked = request(url + TERMINAL_PATH, { method, headers }).end();
    const [{ statusCode, headers: answered }] = (await once(asked, 'response')) as [IncomingMessage];
    asked.destroy();
    return [statusCode, answered['www-authenticate'] ?? answered.allow ?? answered['retry-after'] ?? null];
  };

  t.deepEqual(await ask('GET', upgrade), [401, 'Bearer']);
  t.deepEqual(await ask('GET', {}), [401, 'Bearer']);
  t.deepEqual(await ask('GET', { authorization: `Bearer ${KEYS.api}` }), [400, null]);
  t.deepEqual(await ask('POST', {}), [405, 'GET, HEAD, OPTIONS']);
});

test('a terminal is opened as asked; what is typed arrives, and what is shown comes', async (t) => {
  const { url, played, readings } = await served(t);
  const { say, hears, type, socket, said } = await client(t, url);

  say(OPEN);
  t.deepEqual(await hears('opened'), {
    type: 'opened',
    is_recorded: true,
    host_key: { fingerprint: 'SHA256:played', is_known: false },
    answers_pings: true,
  });
  type('ls\n');
  t.deepEqual(await hears('taken'), { type: 'taken', channel: 'shell', bytes: 3 });
  played.heard?.data(Buffer.from('grüße'));
  const [shown] = (await once(socket, 'message')) as [Buffer];
  say({ type: 'list', path: '/tmp' });
  await hears('listed');
  say({ type: 'download', path: '/tmp/none' });
  t.deepEqual(await hears('file_failed'), { type: 'file_failed', message: 'There is no such file.' });
  played.heard?.exit(3, null);
  played.heard?.closed(null);

  t.like(await hears('over'), { reason: 'exited' });
  t.is(shown.subarray(1).toString(), 'grüße');
  t.deepEqual(played.written, ['ls\n']);
  t.deepEqual(said.at(-2), { type: 'exit', code: 3, signal: null });
  t.like(readings(), { opened: 1, bytes: { up: 3, down: 7 } });
});

test('a refusal is told in its words, and no password is among what is said', async (t) => {
  const { url } = await served(t, refuse('forbidden', 'The node does not let ops in with this password.'));
  const { say, hears, said, closed } = await client(t, url);

  say(OPEN);

  t.like(await hears('over'), { reason: 'refused', message: 'The node does not let ops in with this password.' });
  t.is(await closed, 1_000);
  t.false(JSON.stringify(said).includes('secret-of-a-test'));
});

test('a key signs at its client', async (t) => {
  const { url } = await served(t);
  const { say, hears } = await client(t, url);

  say({ ...OPEN, sign_in: { type: 'key', public_key: `ssh-ed25519 ${'A'.repeat(68)}`, is_new: false } });
  t.deepEqual(await hears('sign'), { type: 'sign', data: Buffer.from('to be signed').toString('base64') });
  say({ type: 'signature', signature: Buffer.alloc(64).toString('base64') });

  t.is((await hears('opened')).type, 'opened');
});

test('a message that is wrong ends it, and is told what is wrong with it in words', async (t) => {
  const { url } = await served(t);

  for (const [wrong, words] of [
    [{ terminal: { columns: 0, rows: 24 } }, 'terminal.columns: must be at least 1'],
    [{ size: 3 }, 'must not have size'],
    [{ username: 3 }, 'username: must be a string'],
  ] as const) {
    const { say, hears, closed } = await client(t, url);
    say({ ...OPEN, ...wrong });
    t.like(await hears('over'), { reason: 'misused', message: `A message is wrong: ${words}` });
    t.is(await closed, 4_008);
  }
});

test('whoever says nothing, and what nobody uses, is closed', async (t) => {
  const { url, clock, readings } = await served(t);
  const [silent, idle] = [await client(t, url), await client(t, url)];
  idle.say(OPEN);
  await idle.hears('opened');

  clock.pass(OPENING_MS_MAX);
  t.is(await silent.closed, 4_008);
  clock.pass(IDLE_MS_MAX);

  t.like(readings().ended, { misused: 1, idle: 1 });
});

test('a sign of life is given when it is asked for, and is no use', async (t) => {
  const { clock, counters, sent, say } = await openSession();

  for (let passed = 0; passed < IDLE_MS_MAX; passed += IDLE_MS_MAX / 2) {
    t.is(counters.readings(0).ended.idle, 0);
    say({ type: 'ping' });
    t.is(sent.at(-1), '{"type":"pong"}');
    clock.pass(IDLE_MS_MAX / 2);
  }

  t.is(counters.readings(0).ended.idle, 1);
});

test('a terminal that is used all the time is closed when it is old', async (t) => {
  const { clock, counters, socket, played, session } = await openSession();

  for (let passed = 0; passed < AGE_MS_MAX; passed += IDLE_MS_MAX / 2) {
    t.is(counters.readings(0).ended.old, 0);
    socket.emit('message', Buffer.from([0, 65]), true);
    clock.pass(IDLE_MS_MAX / 2);
  }
  session.over('cut', 'too late');
  await until('the machine to be hung up', () => played.ended > 0);

  t.like(counters.readings(0).ended, { old: 1, idle: 0, cut: 0 });
  t.is(played.ended, 1);
});

for (const [what, misuse] of Object.entries<(one: Awaited<ReturnType<typeof client>>) => void>({
  'text that is no JSON': ({ socket }) => socket.send('{'),
  'a message that there is not': ({ say }) => say({ type: 'nothing' }),
  'text that is too long': ({ say }) => say({ type: 'list', path: 'x'.repeat(TEXT_BYTES_MAX) }),
  'another opening': ({ say }) => say(OPEN),
  'bytes of no channel': ({ socket }) => socket.send(Buffer.of(7, 1)),
  'more bytes than are taken': ({ type }) => {
    for (let sent = 0; sent <= WINDOW_BYTES; sent += 65_000) type(`stuck${'x'.repeat(64_995)}`);
  },
  'taking more than was sent': ({ say }) => say({ type: 'taken', channel: 'shell', bytes: 1 }),
  'a flood of messages': ({ say }) => {
    for (let sent = 0; sent <= MESSAGES.tokensMax; sent += 1) say({ type: 'resize', columns: 80, rows: 24 });
  },
}))
  test(`${what} ends it`, async (t) => {
    const { url } = await served(t);
    const opened = await client(t, url);
    opened.say(OPEN);
    await opened.hears('opened');

    misuse(opened);

    t.is(await opened.closed, 4_008);
  });

test('a frame that is too large is refused before it is read', async (t) => {
  const { url } = await served(t);
  const { socket, closed } = await client(t, url);

  socket.send(Buffer.alloc(65_538));

  t.is(await closed, 1_009);
});

test('a client that takes nothing holds the machine up, and not the memory', async (t) => {
  const { url, played } = await served(t);
  const { say, hears, bytes, socket } = await client(t, url);
  say(OPEN);
  await hears('opened');

  for (let sent = 0; sent < WINDOW_BYTES; sent += 65_536) played.heard?.data(Buffer.alloc(65_536));
  t.is(played.paused, 1);
  while (bytes() < WINDOW_BYTES) await once(socket, 'message');
  say({ type: 'taken', channel: 'shell', bytes: WINDOW_BYTES });
  say({ type: 'list', path: '/' });
  await hears('listed');

  t.is(played.paused, 0);
});

test('a client that asks for folders and reads nothing is cut, though it says that it is there', async (t) => {
  const { url, played, clock, readings } = await served(t);
  const entry: FileEntry = { name: 'n'.repeat(255), kind: 'file', bytes: 1, modified_at: 1, mode: 0o644 };
  played.entries = Array.from({ length: ENTRIES_MAX }, () => entry);
  const { say, hears, socket, closed } = await client(t, url);
  say(OPEN);
  await hears('opened');

  socket.pause();
  await until('it to be cut', () => {
    say({ type: 'list', path: '/' });
    socket.pong(); // as if it had been pinged, and were there
    clock.pass(250);
    return readings().open === 0;
  });
  socket.resume();

  t.is(await closed, 1_006);
  t.is(played.ended, 1);
  t.like(readings().ended, { cut: 1 });
});

test('an upload whose client goes is taken back before the machine is hung up', async (t) => {
  const { url, played } = await served(t);
  const { say, hears, socket } = await client(t, url);
  say(OPEN);
  await hears('opened');
  say({ type: 'upload', path: '/file', replaces: false });
  await hears('uploading');

  socket.terminate();
  await until('the machine to be hung up', () => played.done.includes('hung up'));

  t.deepEqual(played.done, ['begun', 'taken back', 'hung up']);
});

test('an upload that begins as its client goes is taken back before the machine is hung up', async (t) => {
  const { url, played, readings } = await served(t);
  const begins = Promise.withResolvers<void>();
  played.begins = begins.promise;
  const { say, hears, socket } = await client(t, url);
  say(OPEN);
  await hears('opened');
  say({ type: 'upload', path: '/file', replaces: false });
  await until('it to have begun', () => played.done.length === 1);

  socket.terminate();
  await until('it to be over', () => readings().open === 0);
  begins.resolve();
  await until('the machine to be hung up', () => played.done.includes('hung up'));

  t.deepEqual(played.done, ['begun', 'taken back', 'hung up']);
});

test('a machine that takes nothing back is hung up all the same', async (t) => {
  const { url, played, clock, readings } = await served(t);
  const { say, hears, socket } = await client(t, url);
  played.aborts = Promise.withResolvers<void>().promise;
  say(OPEN);
  await hears('opened');
  say({ type: 'upload', path: '/file', replaces: false });
  await hears('uploading');

  socket.terminate();
  await until('it to be over', () => readings().open === 0);
  t.deepEqual(played.done, ['begun']);
  clock.pass(GIVING_UP_MS_MAX);
  await until('the machine to be hung up', () => played.done.includes('hung up'));

  t.deepEqual(played.done, ['begun', 'hung up']);
});

test('a node has so many terminals, and a place is given back once', (t) => {
  const placeOf = nodePlaces(2);
  const [first, second] = [placeOf('one'), placeOf('one')];

  t.is(placeOf('one'), null);
  t.not(placeOf('other'), null);
  first?.();
  t.not(placeOf('one'), null);
  second?.();
});
