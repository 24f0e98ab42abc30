/** The agent's HTTP servers against whoever connects to them. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { startWebServer } from '../../../agent/observability/web-server.ts';
import type { WebRoute, WebServer, WebServerOptions } from '../../../agent/observability/web-server.ts';
import { until } from '../../support/until.ts';
import { AdminDouble } from '../../support/agent/admin-double.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const TEXT = 'text/plain; charset=utf-8';
const KEY = 'the-key';

const OPEN: WebRoute = { isProtected: false, answer: async () => ({ type: TEXT, body: 'open' }) };
const PROTECTED: WebRoute = { isProtected: true, answer: async () => ({ type: TEXT, body: 'secret' }) };

interface Fixture {
  readonly server: WebServer;
  readonly url: string;
  readonly log: unknown[][];
}

/** A server that ends with the test. */
async function serve(t: ExecutionContext, options: Partial<WebServerOptions> = {}): Promise<Fixture> {
  const log: unknown[][] = [];
  const note = (...words: unknown[]) => {
    log.push(words);
  };
  const server = await startWebServer({
    name: 'api',
    hosts: ['127.0.0.1'],
    port: 0,
    orAnother: false,
    setting: 'AGENT_API_PORT',
    key: KEY,
    routes: { '/open': OPEN, '/secret': PROTECTED },
    log: { debug: note, info: note, warn: note, error: note },
    ...options,
  });
  t.teardown(() => server.close());
  return { server, url: `http://127.0.0.1:${server.port}`, log };
}

/** A connection on which a test writes what it wants. */
async function raw(t: ExecutionContext, { server }: Fixture): Promise<{ socket: Socket; closed: Promise<string> }> {
  const socket = connect(server.port ?? 0, '127.0.0.1');
  t.teardown(() => {
    socket.destroy();
  });
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece)).on('error', () => {});
  const closed = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(Buffer.concat(pieces).toString()));
  });
  await once(socket, 'connect');
  return { socket, closed };
}

async function statusOf(url: string, init: RequestInit = {}): Promise<[number, string]> {
  const answer = await fetch(url, init);
  return [answer.status, await answer.text()];
}

const withKey = (authorization: string) => ({ headers: { authorization } });

test('a protected path takes the key and nothing that is nearly it', async (t) => {
  const { url } = await serve(t);

  t.deepEqual(await statusOf(`${url}/secret`, withKey(`Bearer ${KEY}`)), [200, 'secret']);
  for (const wrong of [
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${KEY}x`,
    `Bearer ${KEY.slice(0, -1)}`,
    `bearer ${KEY.toUpperCase()}`,
    `Basic ${KEY}`,
    KEY,
    `Bearer ${'x'.repeat(4_000)}`,
  ]) {
    const answer = await fetch(`${url}/secret`, withKey(wrong));
    t.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer'], wrong);
    t.notRegex(await answer.text(), /secret|the-key/u);
  }
  t.is((await statusOf(`${url}/secret`))[0], 401);
  t.deepEqual(await statusOf(`${url}/open`), [200, 'open']);
});

test('a wrong path is 404, a wrong method 405, and HEAD is a GET without its body', async (t) => {
  const { url } = await serve(t);

  for (const path of ['/', '/opens', '/open/', '//open', '/OPEN', '/%6fpen', '/__proto__', '/constructor', '/toString'])
    t.is((await statusOf(url + path))[0], 404, path);
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    const answer = await fetch(`${url}/open`, { method });
    t.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET, HEAD'], method);
  }
  const head = await fetch(`${url}/open`, { method: 'HEAD' });
  t.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '4', '']);
  t.deepEqual(await statusOf(`${url}/open?x=1`), [200, 'open'], 'a query changes nothing');
});

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

test('requests in one piece are answered in their order, up to a number', async (t) => {
  const fixture = await serve(t, { limits: { requestsMax: 5, keepAliveMs: 100 } });
  const { socket, closed } = await raw(t, fixture);

  socket.write(
    Array.from(
      { length: 20 },
      (_, index) => `GET /${index % 2 === 0 ? 'open' : 'secret'} HTTP/1.1\r\nhost: a\r\n\r\n`,
    ).join(''),
  );

  const statuses = [...(await closed).matchAll(/HTTP\/1\.1 (\d{3})/gu)].map((match) => match[1]);
  t.deepEqual(statuses.slice(0, 5), ['200', '401', '200', '401', '200']);
  t.deepEqual(
    statuses.slice(5).filter((status) => status !== '503'),
    [],
  );
});

test('a path that fails is 500 without the cause, which the log has; one that never answers is not waited for by others', async (t) => {
  let calls = 0;
  const routes: Record<string, WebRoute> = {
    '/rejects': {
      isProtected: false,
      answer: async () => {
        throw new Error('the cause: 10.0.0.1');
      },
    },
    '/throws': {
      isProtected: false,
      answer: () => {
        throw new Error('the cause');
      },
    },
    '/hangs': {
      isProtected: false,
      answer: () => ((calls += 1) === 1 ? new Promise(() => {}) : Promise.resolve({ type: TEXT, body: 'again' })),
    },
  };
  // as long as a busy machine may take over one request
  const { url, log } = await serve(t, { routes, limits: { answerMsMax: 3_000, headersMsMax: 3_000 } });

  for (const path of ['/rejects', '/throws']) {
    const [status, text] = await statusOf(url + path);
    t.is(status, 500);
    t.notRegex(text, /cause/u);
  }
  t.is(log.length, 2);
  t.regex(String((log[0]?.[0] as { error: Error } | undefined)?.error), /the cause/u);

  const first = await statusOf(`${url}/hangs`).catch(() => [0, '']);
  t.true(first[0] === 500 || first[0] === 0);
  t.deepEqual(await statusOf(`${url}/hangs`), [200, 'again']);
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

test('a port that is taken is a problem in one sentence, told once', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => {
    other.close();
  });
  const { port } = other.address() as AddressInfo;

  const taken = await serve(t, { port });
  const another = await serve(t, { port, orAnother: true });

  t.is(taken.server.port, null);
  t.is(
    taken.server.service.problem(),
    `It does not listen on port ${port}: another program has it. Its port is set by AGENT_API_PORT.`,
  );
  t.is(taken.log.length, 1);
  t.is(another.server.service.problem(), null);
  t.not(another.server.port, port);
});

test('the node of an agent whose port is taken is unhealthy, by the name of the server', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const admin = await AdminDouble.start();
  t.teardown(async () => {
    other.close();
    await admin.close();
  });
  const { port } = other.address() as AddressInfo;

  AgentProcess.start(t, {
    ENROLLMENT_KEY: admin.key(),
    AGENT_DATA_DIR: `${temporaryDirectory(t)}/data`,
    AGENT_HOST_METRICS_PORT: String(port),
  });
  const session = await admin.session();

  const services = session.of('hello')[0]?.report.services ?? [];
  t.deepEqual(
    services.filter(({ healthy }) => !healthy).map(({ name, detail }) => [name, detail]),
    [
      [
        'host_metrics',
        `It does not listen on port ${port}: another program has it. Its port is set by AGENT_HOST_METRICS_PORT.`,
      ],
    ],
  );
});

test('AGENT_METRICS_AUTH_ENABLED=false opens the metrics of the agent', async (t) => {
  const admin = await AdminDouble.start();
  t.teardown(() => admin.close());

  AgentProcess.start(t, {
    ENROLLMENT_KEY: admin.key(),
    AGENT_DATA_DIR: `${temporaryDirectory(t)}/data`,
    AGENT_METRICS_AUTH_ENABLED: 'false',
  });
  const port = (await admin.session()).of('hello')[0]?.registration.ports.http_port;

  t.regex((await statusOf(`http://127.0.0.1:${port}/api/v1/agents/me/metrics/raw`))[1], /^edge_agent_info/mu);
});

test('closing cuts what is open', async (t) => {
  const fixture = await serve(t, { routes: { '/hangs': { isProtected: false, answer: () => new Promise(() => {}) } } });
  const [idle, asking] = await Promise.all([raw(t, fixture), raw(t, fixture)]);
  asking.socket.write('GET /hangs HTTP/1.1\r\nhost: a\r\n\r\n');
  await statusOf(`${fixture.url}/none`);

  fixture.server.close();

  t.deepEqual(await Promise.all([idle.closed, asking.closed]), ['', '']);
  await t.throwsAsync(fetch(fixture.url));
});
