/** The agent's HTTP servers: what they answer, to whom, and what becomes of them when something is wrong. */
import test, { type ExecutionContext } from 'ava';
import type { WebRoute } from '../../../agent/observability/web-server.ts';
import { AdminDouble } from '../../support/agent/admin-double.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { takenPort } from '../../support/net/listening.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { KEY, OPEN, raw, serve, statusOf, TEXT } from './web-server-fixture.ts';

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

test('a path that fails is 500 without the cause, which the log has; one that never answers is not waited for by others', async (t) => {
  let calls = 0;
  const routes: Record<string, WebRoute> = {
    '/rejects': { isProtected: false, answer: () => Promise.reject(new Error('the cause: 10.0.0.1')) },
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

test('a port that is taken is a problem in one sentence, told once', async (t) => {
  const port = await takenPort(t);

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

/** What an agent with these settings says of itself first. */
async function helloOf(t: ExecutionContext, settings: Readonly<Record<string, string>>) {
  const admin = await AdminDouble.start();
  t.teardown(() => admin.close());
  const directory = `${temporaryDirectory(t)}/data`;
  AgentProcess.start(t, { ENROLLMENT_KEY: admin.key(), AGENT_DATA_DIR: directory, ...settings });
  return (await admin.session()).of('hello')[0];
}

test('the node of an agent whose port is taken is unhealthy, by the name of the server', async (t) => {
  const port = await takenPort(t);

  const hello = await helloOf(t, { AGENT_HOST_METRICS_PORT: String(port) });

  const services = hello?.report.services ?? [];
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
  const port = (await helloOf(t, { AGENT_METRICS_AUTH_ENABLED: 'false' }))?.registration.ports.http_port;

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

test('what is long is packed for whoever takes that, once for all who ask meanwhile', async (t) => {
  const text = 'up{a="ü"} 1\n'.repeat(1_000);
  const packing = Promise.withResolvers<{ type: string; body: string }>();
  const routes: Record<string, WebRoute> = {
    '/open': OPEN,
    '/long': { isProtected: false, answer: () => Promise.resolve({ type: TEXT, body: text }) },
    '/shared': { isProtected: false, answer: () => packing.promise },
  };
  const { url } = await serve(t, { routes });
  const formOf = async (path: string, accepted: string, method = 'GET') => {
    const answer = await fetch(url + path, { method, headers: { 'accept-encoding': accepted } });
    const { headers } = answer;
    return {
      encoding: headers.get('content-encoding'),
      length: Number(headers.get('content-length')),
      vary: headers.get('vary'),
      text: await answer.text(),
    };
  };

  const packed = await formOf('/long', 'gzip');
  t.like(packed, { encoding: 'gzip', vary: 'accept-encoding', text });
  t.true(packed.length < Buffer.byteLength(text) / 6, `${packed.length} bytes`);
  t.deepEqual(await formOf('/long', 'gzip', 'HEAD'), { ...packed, text: '' });
  for (const accepted of ['identity', 'gzip;q=0', 'br', ''])
    t.like(await formOf('/long', accepted), { encoding: null, length: Buffer.byteLength(text), text }, accepted);
  t.like(await formOf('/open', 'gzip'), { encoding: null, length: 4, text: 'open' });

  const both = ['gzip', 'identity', 'gzip'].map((accepted) => formOf('/shared', accepted));
  packing.resolve({ type: TEXT, body: text });
  t.deepEqual(
    (await Promise.all(both)).map((one) => [one.encoding, one.text === text]),
    [
      ['gzip', true],
      [null, true],
      ['gzip', true],
    ],
  );
});
