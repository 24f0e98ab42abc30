/** Where the demo listens, from one run to the next. */
import test from 'ava';
import { portsFor } from '../../../cli/demo/ports.ts';
import { freePort } from '../../support/free-ports.ts';
import { takenPort } from '../../support/listening.ts';

test('it listens where it did the last time', async (t) => {
  const before = { api: await freePort(), http: await freePort(), socks5: await freePort() };

  t.deepEqual(await portsFor(null, before), before);
});

test('what was taken meanwhile moves, and nothing else', async (t) => {
  const before = { api: await freePort(), http: await takenPort(t), socks5: await freePort() };

  const { http, ...others } = await portsFor(null, before);

  t.deepEqual(others, { api: before.api, socks5: before.socks5 });
  t.not(http, before.http);
});

test('a port that is wanted goes before what is remembered, and nothing else takes it', async (t) => {
  const port = await freePort();

  const ports = await portsFor(port, { api: await freePort(), http: port, socks5: port });

  t.is(ports.api, port);
  t.is(new Set(Object.values(ports)).size, 3);
});

test('a port that is wanted and taken is refused', async (t) => {
  const port = await takenPort(t);

  await t.throwsAsync(portsFor(port, {}), { message: /another program listens there/u });
});
