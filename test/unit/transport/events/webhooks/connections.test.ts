/** How many connections a sender of webhooks has, and who waits for which. */
import test from 'ava';
import { until } from '../../../../support/until.ts';
import {
  DELIVERY,
  webhookSender,
  rawReceiver,
  receiver,
  webhookTo,
} from '../../../../support/webhooks/webhook-receivers.ts';

test('requests one after another share a connection', async (t) => {
  const there = await receiver(t, (_request, response) => response.end('ok'));
  const sender = webhookSender(t);

  for (let count = 0; count < 20; count += 1)
    t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });

  t.is(there.got.length, 20);
  t.is(there.connections(), 1);
});

test('there are no more connections than allowed, and requests beyond wait for their turn', async (t) => {
  const open: (() => unknown)[] = [];
  const there = await receiver(t, (_request, response) => {
    open.push(() => response.end());
    if (open.length === 3) for (const answer of open.splice(0)) answer();
  });
  const sender = webhookSender(t, { connectionsMax: 3 });

  const attempts = await Promise.all(Array.from({ length: 12 }, () => sender.send(webhookTo(there.url), DELIVERY)));

  t.true(attempts.every((attempt) => attempt?.type === 'answered' && attempt.statusCode === 200));
  t.is(there.connections(), 3);
});

test('the time of those that wait in line runs too', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.resume());
  const sender = webhookSender(t, { connectionsMax: 1, timeoutMs: 500 });

  const attempts = await Promise.all([
    sender.send(webhookTo(there.url), DELIVERY),
    sender.send(webhookTo(there.url), DELIVERY),
  ]);

  t.deepEqual(
    attempts.map((attempt) => attempt?.type),
    ['failed', 'failed'],
  );
  t.is(sender.counters.failures['timed-out'], 2);
});

test('a receiver that hangs holds up no other', async (t) => {
  const hanging = await rawReceiver(t, (socket) => socket.resume());
  const there = await receiver(t, (_request, response) => response.end('ok'));
  const sender = webhookSender(t, { timeoutMs: 30_000 });

  const hung = Array.from({ length: 8 }, () => sender.send(webhookTo(hanging.url, { id: 'hangs' }), DELIVERY));
  for (let count = 0; count < 20; count += 1)
    t.like(await sender.send(webhookTo(there.url, { id: 'well' }), DELIVERY), { statusCode: 200 });

  t.is(sender.counters.failures['timed-out'], 0);
  sender.cut('hangs');
  t.deepEqual(
    await Promise.all(hung),
    Array.from({ length: 8 }, () => null),
  );
});

test('of several requests to one webhook one that hangs holds up no other', async (t) => {
  const there = await receiver(t, (_request, response, count) => count > 1 && response.end('ok'));
  const sender = webhookSender(t, { connectionsMax: 2, timeoutMs: 30_000 });

  const hung = sender.send(webhookTo(there.url), DELIVERY);
  await until('it has come in', () => there.got.length === 1);
  for (let count = 0; count < 10; count += 1)
    t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });

  t.is(there.connections(), 2);
  sender.cut(webhookTo(there.url).id);
  t.is(await hung, null);
});

test('a receiver is reached over IPv6', async (t) => {
  const there = await receiver(t, (_request, response) => response.end('six'), '::1');

  t.like(await webhookSender(t).send(webhookTo(there.url), DELIVERY), { statusCode: 200, answer: 'six' });
  t.is(there.got[0]?.headers.host, `[::1]:${there.port}`);
});

test('proxies of the environment are not for webhooks', async (t) => {
  const proxy = await rawReceiver(t, (socket) => socket.end());
  const before = { ...process.env };
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY'])
    process.env[name] = name.startsWith('NODE') ? '1' : proxy.url;
  t.teardown(() => {
    process.env = before;
  });
  const there = await receiver(t, (_request, response) => response.end());

  t.like(await webhookSender(t).send(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  t.is(proxy.connections(), 0);
});
