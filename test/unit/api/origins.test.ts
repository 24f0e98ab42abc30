/** Requests that browsers send for pages, as they look on the wire. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import test from 'ava';
import { createWebPages } from '../../../api/origins.ts';
import { serveApi } from '../../support/api/fakes.ts';

const pages = createWebPages({
  urls: ['https://admin.example.com', 'http://10.0.0.5:44000'],
  hosts: ['console.example.com'],
});
const refusedOf = (method: string, headers: Record<string, string>): boolean =>
  pages.foreignOrigin({ method, headers } as unknown as IncomingMessage) !== null;

test('a page may change things where it has the origin of the admin, of one of its URLs or a named host', (t) => {
  const host = 'admin.example.com';
  const rows: readonly (readonly [Record<string, string>, boolean])[] = [
    [{ host }, false],
    [{ host, origin: 'https://admin.example.com' }, false],
    [{ host: 'admin.example.com:443', origin: 'https://admin.example.com' }, false],
    [{ host: 'localhost:44000', origin: 'http://localhost:44000' }, false],
    // behind a reverse proxy that changes Host
    [{ host: '127.0.0.1:44000', origin: 'https://admin.example.com' }, false],
    [{ host, origin: 'https://console.example.com' }, false],
    [{ host, origin: 'http://10.0.0.5:44000' }, false],
    [{ host, origin: 'http://10.0.0.5:8080' }, true],
    [{ host, origin: 'http://admin.example.com:8080' }, true],
    [{ host: 'localhost:44000', origin: 'http://localhost:3000' }, true],
    [{ host, origin: 'https://stranger.example' }, true],
    [{ host, origin: 'https://admin.example.com.stranger.example' }, true],
    [{ host, origin: 'null' }, true],
    [{ host, origin: '' }, true],
    [{ host, 'sec-fetch-site': 'cross-site' }, true],
    [{ host, 'sec-fetch-site': 'same-site' }, true],
    [{ host, 'sec-fetch-site': 'same-origin' }, false],
    [{ host, 'sec-fetch-site': 'none' }, false],
  ];

  for (const [headers, refused] of rows) {
    for (const method of ['POST', 'PATCH', 'DELETE', 'PUT'])
      t.is(refusedOf(method, headers), refused, JSON.stringify(headers));
    t.is(refusedOf('GET', { ...headers, upgrade: 'websocket' }), refused, JSON.stringify(headers));
    t.false(refusedOf('GET', headers), 'a link from elsewhere leads to the pages of the admin');
  }
});

test('its own names are those of its URLs, of this machine, addresses, and what is named', (t) => {
  for (const host of [
    undefined,
    '127.0.0.1:44000',
    '[::1]:44000',
    '192.0.2.7',
    'localhost:1',
    'LOCALHOST',
    'a.localhost',
    'admin.example.com',
    'Admin.Example.com.:44000',
    'console.example.com:9',
  ])
    t.true(pages.isOwnHost(host), host ?? 'none');
  for (const host of [
    'stranger.example',
    'localhost.stranger.example',
    'admin.example.com.stranger.example',
    'a b',
    '',
    '127.0.0.1.stranger.example',
  ])
    t.false(pages.isOwnHost(host), host);
});

/** The status under a Host that fetch would not send. */
async function statusUnder(host: string, url: string, method = 'GET'): Promise<number | undefined> {
  const asked = httpRequest(url, { method, headers: { host } }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

test('another name is refused only where no key is asked for', async (t) => {
  const open = await serveApi(t, {
    gate: { apiAuthEnabled: false },
    operations: { publicEnrollmentKeyEnabled: true, defaultClusterName: 'demo' },
  });
  const paths = [
    ['GET', '/api/v1/nodes', 403],
    ['GET', '/api/v1/nodes/metrics/host/discovery', 401],
    ['GET', '/livez', 200],
    ['POST', '/api/v1/clusters/default/enrollment_keys/public', 403],
  ] as const;

  for (const [method, path, status] of paths)
    t.is(await statusUnder('stranger.example', open.url + path, method), status, path);
  t.is(await statusUnder('localhost', `${open.url}/api/v1/nodes`), 200);
});
