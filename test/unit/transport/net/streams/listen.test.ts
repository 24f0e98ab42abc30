import { createServer } from 'node:net';
import test from 'ava';
import { listenAt } from '../../../../../transport/net/streams/listen.ts';

test('a port that nobody chose and that was taken meanwhile is replaced by a free one', async (t) => {
  const first = createServer();
  const second = createServer();
  t.teardown(() => first.close());
  t.teardown(() => second.close());
  const taken = await listenAt(first, { host: '127.0.0.1', port: 0 });
  if (!taken.ok) throw new Error(taken.reason);

  const listened = await listenAt(second, { host: '127.0.0.1', port: taken.port, orAnother: true });

  t.true(listened.ok && listened.port !== taken.port);
});

test('a port that somebody chose is that one or none, and the server can be tried again', async (t) => {
  const first = createServer();
  const second = createServer();
  t.teardown(() => second.close());
  const taken = await listenAt(first, { host: '127.0.0.1', port: 0 });
  if (!taken.ok) throw new Error(taken.reason);

  t.deepEqual(await listenAt(second, { host: '127.0.0.1', port: taken.port }), {
    ok: false,
    reason: 'another program has it',
    code: 'EADDRINUSE',
  });

  first.close();
  t.deepEqual(await listenAt(second, { host: '127.0.0.1', port: taken.port }), { ok: true, port: taken.port });
});

test('an address that this machine does not have is no other port either', async (t) => {
  t.deepEqual(await listenAt(createServer(), { host: '192.0.2.1', port: 0, orAnother: true }), {
    ok: false,
    reason: 'this machine does not have the address',
    code: 'EADDRNOTAVAIL',
  });
});
