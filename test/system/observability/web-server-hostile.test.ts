/** The agent's HTTP servers against clients that are slow, many, or speak no HTTP. */
import test from 'ava';
import type { WebRoute } from '../../../agent/observability/web-server.ts';
import { PIPELINED_REQUESTS_MAX } from '../../../transport/net/streams/pipelining.ts';
import { until } from '../../support/until.ts';
import { OPEN, raw, serve, statusOf, TEXT } from './web-server-fixture.ts';

test('headers that come drop by drop are cut in time, and nobody else waits for them', async (t) => {
  const fixture = await serve(t, { limits: { headersMsMax: 2_000, lookMs: 50 } });
  const { socket, closed } = await raw(t, fixture);
  socket.write('GET /open HTTP/1.1\r\nhost: a\r\n');
  const drops = setInterval(() => socket.write('x: y\r\n'), 20);
  t.teardown(() => clearInterval(drops));

  const others = await Promise.all(Array.from({ length: 20 }, () => statusOf(`${fixture.url}/open`)));

  t.deepEqual(
    others,
    others.map(() => [200, 'open']),
  );
  t.regex(await closed, /^HTTP\/1\.1 408 /u);
});

test('a client that does not read its answer is cut, and so is a connection that says nothing', async (t) => {
  const big: WebRoute = { isProtected: false, answer: async () => ({ type: TEXT, body: 'x'.repeat(16_000_000) }) };
  const fixture = await serve(t, {
    routes: { '/big': big, '/open': OPEN },
    limits: { connectionsMax: 1, answerMsMax: 300, headersMsMax: 300, keepAliveMs: 100, lookMs: 50 },
  });
  const mute = await raw(t, fixture);
  await mute.closed;

  const deaf = await raw(t, fixture);
  deaf.socket.pause();
  deaf.socket.write('GET /big HTTP/1.1\r\nhost: a\r\n\r\n');

  t.deepEqual(await until('the one place to be free', () => statusOf(`${fixture.url}/open`).catch(() => null)), [
    200,
    'open',
  ]);
  deaf.socket.resume();
  t.true((await deaf.closed).length < 16_000_000);
});

test('connections over the limit are closed at once, and there is room again when others end', async (t) => {
  const fixture = await serve(t, { limits: { connectionsMax: 3 } });
  const held = await Promise.all([raw(t, fixture), raw(t, fixture), raw(t, fixture)]);

  const more = await raw(t, fixture);
  t.is(await more.closed, '');

  held[0].socket.destroy();
  t.deepEqual(await until('room', () => statusOf(`${fixture.url}/open`).catch(() => null)), [200, 'open']);
});

test('headers that are too large, and what is no HTTP at all, end their connection only', async (t) => {
  const fixture = await serve(t);
  const answers = await Promise.all(
    [
      `GET /open HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(9_000)}\r\n\r\n`,
      '\0\x01\x02 nonsense\r\n\r\n',
      'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n',
    ].map(async (text) => {
      const { socket, closed } = await raw(t, fixture);
      socket.write(text);
      return (await closed).slice(0, 12);
    }),
  );

  t.deepEqual(answers, ['HTTP/1.1 431', 'HTTP/1.1 400', '']);
  t.deepEqual(await statusOf(`${fixture.url}/open`), [200, 'open']);
});

test('a body is not read: the answer comes without waiting for it, and the connection ends', async (t) => {
  const fixture = await serve(t);
  for (const head of ['content-length: 1000000000', 'transfer-encoding: chunked']) {
    const { socket, closed } = await raw(t, fixture);
    socket.write(`GET /open HTTP/1.1\r\nhost: a\r\n${head}\r\n\r\n`);
    const flood = setInterval(() => socket.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`), 5);
    t.teardown(() => clearInterval(flood));

    t.regex(await closed, /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n(?:.*\r\n)*\r\nopen$/iu);
  }
});

test('requests in one piece are answered in their order, up to a number, and too many of them not at all', async (t) => {
  const fixture = await serve(t, { limits: { requestsMax: 5, keepAliveMs: 100 } });
  const { socket, closed } = await raw(t, fixture);
  const flood = await raw(t, fixture);
  const ask = (count: number) =>
    Array.from(
      { length: count },
      (_, index) => `GET /${index % 2 === 0 ? 'open' : 'secret'} HTTP/1.1\r\nhost: a\r\n\r\n`,
    ).join('');

  socket.write(ask(PIPELINED_REQUESTS_MAX));
  flood.socket.write(ask(PIPELINED_REQUESTS_MAX + 1));

  const statuses = [...(await closed).matchAll(/HTTP\/1\.1 (\d{3})/gu)].map((match) => match[1]);
  t.deepEqual(statuses.slice(0, 5), ['200', '401', '200', '401', '200']);
  t.deepEqual(
    statuses.slice(5).filter((status) => status !== '503'),
    [],
  );
  t.is(await flood.closed, '');
});

test('a crowd that asks at once shares one answer', async (t) => {
  let calls = 0;
  const gate = Promise.withResolvers<void>();
  const shared: WebRoute = {
    isProtected: false,
    answer: async () => {
      calls += 1;
      await gate.promise;
      return { type: TEXT, body: `${calls}` };
    },
  };
  const fixture = await serve(t, { routes: { '/shared': shared } });
  const crowd = await Promise.all(Array.from({ length: 3 }, () => raw(t, fixture)));

  for (const { socket } of crowd)
    socket.write(
      'GET /shared HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(10) +
        'GET /nowhere HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n',
    );
  await statusOf(`${fixture.url}/nowhere`);
  await until('the first request', () => calls === 1);
  gate.resolve();

  for (const { closed } of crowd) t.is((await closed).split('\r\n\r\n1HTTP').length, 11);
  t.is(calls, 1);
  t.deepEqual(await statusOf(`${fixture.url}/shared`), [200, '2']);
});
