/** Who may read the metrics of nodes, and what a raw route takes and answers. */
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { ok, refuse } from '../../../actors/refusal.ts';
import { SCRAPE_ROUTES } from '../../../api/docs/scrape-routes.ts';
import { until } from '../../support/until.ts';
import { KEYS, serveApi, SOME_ID } from '../../support/api/fakes.ts';
import { METRICS_SOURCES } from '../../../actors/resources/node-metrics.ts';

const BY_METRICS_KEY = { headers: { authorization: `Bearer ${KEYS.metrics}` } };

const paths = SCRAPE_ROUTES.map(({ path }) => path.replace('{node_id}', SOME_ID));

test('METRICS_KEY and MASTER_KEY open what monitoring systems read, and no other key does', async (t) => {
  const { request } = await serveApi(t);

  for (const path of paths) {
    for (const key of ['', 'wrong-key-of-the-tests-12345'])
      t.is(
        (await request('GET', path, { headers: { authorization: key === '' ? '' : `Bearer ${key}` } })).status,
        401,
        path,
      );
    for (const key of [KEYS.api, KEYS.mcp, KEYS.proxy])
      t.is((await request('GET', path, { headers: { authorization: `Bearer ${key}` } })).status, 403, path);
  }
  for (const source of METRICS_SOURCES) {
    for (const key of [KEYS.metrics, KEYS.master]) {
      t.is(
        (
          await request('GET', `/api/v1/nodes/metrics/${source}/discovery`, {
            headers: { authorization: `Bearer ${key}` },
          })
        ).status,
        200,
      );
      t.is(
        (
          await request('GET', `/api/v1/nodes/${SOME_ID}/metrics/${source}/raw`, {
            headers: { authorization: `Bearer ${key}` },
          })
        ).status,
        503,
        'there is no node',
      );
    }
  }
});

test('without enforcement nobody needs a key for metrics, and everybody still does for the rest', async (t) => {
  const { request } = await serveApi(t, { gate: { metricsAuthEnabled: false } });
  const none = { headers: { authorization: '' } };

  for (const source of METRICS_SOURCES)
    t.is((await request('GET', `/api/v1/nodes/metrics/${source}/discovery`, none)).status, 200);
  t.is((await request('GET', `/api/v1/nodes/${SOME_ID}/metrics/host`, none)).status, 404);
  t.is((await request('GET', '/api/v1/nodes', none)).status, 401);
});

test('a raw route takes the id of a node and no query', async (t) => {
  const { request } = await serveApi(t, {
    ports: {
      nodeMetrics: {
        raw: async () => refuse('not_found', 'Resource not found'),
        host: async () => refuse('not_found', ''),
        agent: async () => refuse('not_found', ''),
      },
    },
  });

  t.is((await request('GET', `/api/v1/nodes/${SOME_ID}/metrics/host/raw`, BY_METRICS_KEY)).status, 404);
  for (const [path, field] of [
    [`/api/v1/nodes/nope/metrics/host/raw`, 'node_id'],
    [`/api/v1/nodes/${SOME_ID}/metrics/host/raw?x=1`, 'x'],
    ['/api/v1/admins/me/metrics/raw?x=1', 'x'],
  ] as const) {
    const { status, body } = await request('GET', path, BY_METRICS_KEY);
    t.deepEqual(
      [status, body?.error?.code, Object.keys(body?.error?.details as object)],
      [400, 'bad_request', [field]],
    );
  }
  t.is((await request('POST', `/api/v1/nodes/${SOME_ID}/metrics/host/raw`, BY_METRICS_KEY)).status, 405);
});

test('a raw route answers with the exposition as it is, and a client that goes away ends its scrape', async (t) => {
  const signals: (AbortSignal | undefined)[] = [];
  const stuck = Promise.withResolvers<never>();
  const { url } = await serveApi(t, {
    ports: {
      nodeMetrics: {
        raw(_node, source, signal) {
          signals.push(signal);
          return source === 'host'
            ? Promise.resolve(ok({ text: Buffer.from('up{a="ü"} 1\n'), gzip: null }))
            : stuck.promise;
        },
        host: async () => refuse('not_found', ''),
        agent: async () => refuse('not_found', ''),
      },
    },
  });

  const answer = await fetch(`${url}/api/v1/nodes/${SOME_ID}/metrics/host/raw`, BY_METRICS_KEY);
  t.deepEqual(
    [answer.status, answer.headers.get('content-type'), await answer.text()],
    [200, 'text/plain; version=0.0.4; charset=utf-8', 'up{a="ü"} 1\n'],
  );

  const client = new AbortController();
  const going = fetch(`${url}/api/v1/nodes/${SOME_ID}/metrics/agent/raw`, { ...BY_METRICS_KEY, signal: client.signal });
  await until('the scrape', () => signals.length === 2);
  client.abort();
  await t.throwsAsync(going);
  await until('its end', () => signals[1]?.aborted === true);
});

test('what came packed goes on as it came to a client that takes it, and as text to others', async (t) => {
  const text = Buffer.from('up{a="ü"} 1\n'.repeat(100));
  const gzip = gzipSync(text);
  const raw = async () => ok({ text, gzip });
  const none = async () => refuse('not_found', '');
  const { url } = await serveApi(t, { ports: { nodeMetrics: { raw, host: none, agent: none } } });

  for (const [accepted, encoding, length] of [
    ['gzip', 'gzip', gzip.length],
    ['br, gzip;q=0.5', 'gzip', gzip.length],
    ['identity', null, text.length],
    ['gzip;q=0', null, text.length],
  ] as const) {
    const answer = await fetch(`${url}/api/v1/nodes/${SOME_ID}/metrics/host/raw`, {
      headers: { ...BY_METRICS_KEY.headers, 'accept-encoding': accepted },
    });
    t.deepEqual(
      [answer.headers.get('content-encoding'), answer.headers.get('content-length'), answer.headers.get('vary')],
      [encoding, String(length), 'accept-encoding'],
      accepted,
    );
    t.is(await answer.text(), text.toString(), accepted);
  }
});
