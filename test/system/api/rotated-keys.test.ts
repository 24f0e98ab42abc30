/** Keys of callers while they are rotated: the former one lets in beside the new one, until it is taken away. */
import { once } from 'node:events';
import test from 'ava';
import { WebSocket } from 'ws';
import { ADMIN_KEYS, startTestAdmin, type TestAdmin } from '../../support/admin.ts';
import { connectThrough } from '../../support/net/reach-fixture.ts';
import { urlOf } from '../../support/database/server.ts';

/** The next value of each key. */
const NEXT = {
  MASTER_KEY: 'next-master-key-of-the-tests-1',
  API_KEY: 'next-api-key-of-the-tests-1234',
  METRICS_KEY: 'next-metrics-key-of-the-tests1',
  MCP_KEY: 'next-mcp-key-of-the-tests-1234',
  PROXY_KEY: 'next-proxy-key-of-the-tests-12',
} as const;

const FORMER = Object.fromEntries(Object.entries(ADMIN_KEYS).map(([name, key]) => [`${name}_OLD`, key]));

type Keys = Readonly<Record<keyof typeof NEXT, string>>;

/** What each surface answers to each of these keys: statuses by what was asked. */
async function statuses({ url, proxies }: TestAdmin, keys: Keys): Promise<Readonly<Record<string, number>>> {
  const get = async (path: string, key: string) =>
    (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).status;
  const mcp = async (key: string) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'list_nodes', arguments: {} },
    });
    const answer = await fetch(`${url}/mcp`, { method: 'POST', headers, body });
    return /unauthorized/u.test(await answer.text()) ? 401 : answer.status;
  };
  const proxy = async (key: string) => {
    const { status, stream } = await connectThrough(proxies?.http.port ?? 0, 'nowhere.invalid:1', `_:${key}`);
    stream?.destroy();
    return status === 407 ? 407 : 200;
  };
  return {
    'master at the API': await get('/api/v1/nodes', keys.MASTER_KEY),
    'api at the API': await get('/api/v1/nodes', keys.API_KEY),
    'api at metrics': await get('/api/v1/admins/me/metrics', keys.API_KEY),
    'metrics at metrics': await get('/api/v1/admins/me/metrics', keys.METRICS_KEY),
    'metrics at the API': await get('/api/v1/nodes', keys.METRICS_KEY),
    'mcp at MCP': await mcp(keys.MCP_KEY),
    'proxy at the proxy': await proxy(keys.PROXY_KEY),
    'master at the proxy': await proxy(keys.MASTER_KEY),
    'api at the proxy': await proxy(keys.API_KEY),
  };
}

const LET_IN = {
  'master at the API': 200,
  'api at the API': 200,
  'api at metrics': 403,
  'metrics at metrics': 200,
  'metrics at the API': 403,
  'mcp at MCP': 200,
  'proxy at the proxy': 200,
  'master at the proxy': 200,
  'api at the proxy': 407,
};

const KEPT_OUT = {
  'master at the API': 401,
  'api at the API': 401,
  'api at metrics': 401,
  'metrics at metrics': 401,
  'metrics at the API': 401,
  'mcp at MCP': 401,
  'proxy at the proxy': 407,
  'master at the proxy': 407,
  'api at the proxy': 407,
};

test('a former key reaches what the new one of its kind reaches, on every surface, and nothing once it is taken away', async (t) => {
  const during = await startTestAdmin(t, {
    ...NEXT,
    ...FORMER,
    ADMIN_NAME: 'during',
    AUTH_FAILURES_PER_MINUTE_MAX: '1000',
  });
  const live = new WebSocket(`${during.url.replace('http', 'ws')}/api/trpc`, {
    headers: { authorization: `Bearer ${ADMIN_KEYS.API_KEY}` },
  });
  t.teardown(() => live.terminate());
  await once(live, 'open');

  t.deepEqual(await statuses(during, ADMIN_KEYS), LET_IN);
  t.deepEqual(await statuses(during, NEXT), LET_IN);
  const ended = once(live, 'close');
  await during.stop();
  await ended; // whoever came in by the former key comes again, and is asked for a key
  const after = await startTestAdmin(t, {
    ...NEXT,
    DATABASE_URL: urlOf(during.database),
    AUTH_FAILURES_PER_MINUTE_MAX: '1000',
  });

  t.deepEqual(await statuses(after, ADMIN_KEYS), KEPT_OUT);
  t.deepEqual(await statuses(after, NEXT), LET_IN);
  for (const key of [...Object.values(ADMIN_KEYS), ...Object.values(NEXT)])
    t.false(JSON.stringify([during.log.lines, after.log.lines]).includes(key));
});
