/** What HTTP itself promises of sizes: what is too large, and answers that arrive although nobody waited for them. */
import { once } from 'node:events';
import test from 'ava';
import { IN_VALUES_MAX } from '../../../../api/inputs/list-input.ts';
import { mountMcp } from '../../../../api/mcp/mount.ts';
import { KEYLESS_BODY_BYTES_MAX } from '../../../../api/rest/keyless-bodies.ts';
import { LINGER_BYTES_MAX } from '../../../../api/rest/lingering.ts';
import { mountTrpc } from '../../../../api/trpc/mount.ts';
import { serve } from '../../../support/api/served.ts';
import { ENROLL_PATH } from '../../../../transport/protocol/version.ts';
import { until } from '../../../support/until.ts';
import { KEYS, serveApi, SOME_ID } from '../../../support/api/fakes.ts';
import { writeFirst, pieces } from './boundary-fixture.ts';

const AUTHORIZATION = `Authorization: Bearer ${KEYS.api}\r\n`;

test('a client that writes a body above the limit to its end reads the 413, and may go on', async (t) => {
  const { url } = await serveApi(t);
  const bytes = 6_000_000;

  for (const [framing, end] of [
    [`Content-Length: ${bytes}\r\n`, ''],
    ['Transfer-Encoding: chunked\r\n', '\r\n0\r\n\r\n'],
  ] as const) {
    const head = `POST /api/v1/commands HTTP/1.1\r\nHost: x\r\n${AUTHORIZATION}Content-Type: application/json\r\n${framing}\r\n${end === '' ? '' : `${bytes.toString(16)}\r\n`}`;
    const { socket, answer, writtenBytes } = await writeFirst(url, head, pieces(bytes));
    t.is(writtenBytes, bytes, 'nobody hung up on it');
    await until('the answer', () => answer().includes('payload_too_large'));
    t.regex(answer(), /^HTTP\/1\.1 413 /u);
    socket.write(`${end}GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await once(socket, 'close');
    t.regex(answer(), /HTTP\/1\.1 200 /u);
  }
});

test('who shows no key that is known here sends 64 KiB at most, to whatever is read before a key is looked at', async (t) => {
  const { url } = await serve(t, {
    mounts: ({ feeds }, clock) => [mountTrpc(feeds, clock), mountMcp({ offersPublicTools: true, version: '1.0.0' })],
  });
  const ask = async (path: string, bytes: number, headers: Readonly<Record<string, string>>) => {
    const body = `{"x":"${'x'.repeat(bytes - 8)}"}`;
    return (
      await fetch(url + path, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })
    ).status;
  };

  for (const path of ['/mcp', '/api/trpc/create_command', ENROLL_PATH]) {
    for (const headers of [{}, { Authorization: 'Bearer wrong' }] as readonly Readonly<Record<string, string>>[]) {
      t.is(await ask(path, KEYLESS_BODY_BYTES_MAX + 1, headers), 413, path);
      t.not(await ask(path, KEYLESS_BODY_BYTES_MAX, headers), 413, path);
    }
  }
  for (const [path, key] of [
    ['/mcp', KEYS.mcp],
    ['/api/trpc/create_command', KEYS.api],
  ] as const)
    t.not(await ask(path, 2 * KEYLESS_BODY_BYTES_MAX, { Authorization: `Bearer ${key}` }), 413, path);
});

test('a body that is too large for who has no key, and that no route reads, ends nothing', async (t) => {
  const { url } = await serve(t, {
    mounts: ({ feeds }, clock) => [mountTrpc(feeds, clock), mountMcp({ offersPublicTools: true, version: '1.0.0' })],
  });
  const bytes = 3 * KEYLESS_BODY_BYTES_MAX;
  const body = 'x'.repeat(bytes);
  const chunked = `Transfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const whole = `Content-Length: ${bytes}\r\n\r\n${body}`;
  const json = 'Content-Type: application/json\r\n';

  for (const [request, status] of [
    [`POST /mcp HTTP/1.1\r\nHost: x\r\n${json}${chunked}`, 413],
    [`POST /mcp HTTP/1.1\r\nHost: x\r\n${json}${whole}`, 413],
    [`POST /mcp HTTP/1.1\r\nHost: x\r\n${json}Content-Length: 2000000\r\n\r\n${'x'.repeat(2_000_000)}`, 413],
    [`POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n${whole}`, 415],
    [`POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n${chunked}`, 415],
    [`POST /api/trpc/x HTTP/1.1\r\nHost: x\r\n${whole}`, 415],
    [`GET /api/trpc/x HTTP/1.1\r\nHost: x\r\n${whole}`, 404],
  ] as const) {
    const { socket, answer } = await writeFirst(url, '', [Buffer.from(request)]);
    await until('the answer', () => answer().includes('\r\n\r\n'));
    t.regex(answer(), new RegExp(`^HTTP/1\\.1 ${status} `, 'u'), request.slice(0, 100));
    socket.destroy();
  }

  t.is((await fetch(`${url}/livez`)).status, 200);
});

test('a body that goes on and on after its answer is cut, whoever sends it', async (t) => {
  const { url } = await serveApi(t);

  for (const credential of [AUTHORIZATION, '']) {
    const head = `POST /api/v1/commands HTTP/1.1\r\nHost: x\r\n${credential}Content-Type: application/json\r\nContent-Length: ${40 * LINGER_BYTES_MAX}\r\n\r\n`;
    const { writtenBytes } = await writeFirst(url, head, pieces(40 * LINGER_BYTES_MAX));
    t.true(writtenBytes < 3 * LINGER_BYTES_MAX, `${writtenBytes} bytes went in`);
  }
});

test('headers above the limit, and what is no HTTP, get their answer although more of them comes', async (t) => {
  const { url } = await serveApi(t);

  for (const head of ['GET / HTTP/1.1\r\nHost: x\r\nX-Long: ', 'NO HTTP AT ALL\r\n\r\n']) {
    const { socket, answer, writtenBytes } = await writeFirst(url, head, pieces(2_000_000));
    t.is(writtenBytes, 2_000_000);
    socket.end();
    await once(socket, 'close');
    t.regex(answer(), /^HTTP\/1\.1 400 [^]*"code":"bad_request"[^]*"details":\{/u);
  }
});

test('every list takes as many ids in each of its filters as are promised, with the others beside them', async (t) => {
  const { request } = await serveApi(t);
  const ids = Array.from(
    { length: IN_VALUES_MAX },
    (_, index) => `0193A1C2-7B1E-7C44-9D3A-${index.toString(16).padStart(12, '0')}`,
  );

  for (const path of [
    '/nodes?node_id__in=',
    '/command_executions?page_size=1&command_id__in=',
    '/ssh_public_keys?ssh_username_id__in=',
  ]) {
    t.is((await request('GET', `/api/v1${path}${encodeURIComponent(ids.join(','))}`)).status, 200, path);
  }
  const all = new URLSearchParams({
    node_id__in: ids.join(','),
    enrollment_key_id__in: ids.join(','),
    status__in: 'healthy,unhealthy',
    version: '1.*',
    page_size: '100',
    sort: '-inserted_at',
  });
  t.is((await request('GET', `/api/v1/nodes?${all.toString()}`)).status, 200);
  t.is((await request('GET', `/api/v1/nodes?node_id__in=${[...ids, SOME_ID].join(',')}`)).status, 400);
});

test('more headers than are read are refused, and not forgotten in silence', async (t) => {
  const { request } = await serveApi(t);
  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'x']));

  const { status, body } = await request('GET', '/api/v1/nodes', { headers: headers(101) });

  t.deepEqual([status, body?.error?.code], [400, 'bad_request']);
  t.is((await request('GET', '/api/v1/nodes', { headers: headers(80) })).status, 200);
});
