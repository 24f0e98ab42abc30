/** Calls over Node's HTTP that stand for `fetch`: the same answers, the same failures. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { TRPCClientError } from '@trpc/client';
import test, { type ExecutionContext } from 'ava';
import { ROOT } from '../../../support/source/source-text.ts';
import { plainFetch } from '../../../../cli/service/plain-fetch.ts';
import { NO_ANSWER, problemOf } from '../../../../cli/problem.ts';

/** A server that answers what it was asked, and by its path what else there may come. */
async function serve(t: ExecutionContext): Promise<string> {
  // it ends no idle connection: a call may be about to use it
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const path = request.url ?? '';
      if (path === '/never') return;
      const status = path === '/moved' ? 307 : path === '/missing' ? 404 : 200;
      response.writeHead(status, { ...(status === 307 && { location: '/there' }) });
      const { method, headers } = request;
      const told = { path, method, authorization: headers.authorization, body: Buffer.concat(pieces).toString() };
      response.end(path === '/page' ? '<html>' : JSON.stringify(told));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('what is sent arrives, what is answered comes back, and a redirection is followed', async (t) => {
  const url = await serve(t);
  const init = { method: 'POST', headers: { authorization: 'Bearer key' }, body: '{"ä":1}' };

  for (const [path, arrived, ok] of [
    ['/here', '/here', true],
    ['/missing', '/missing', false],
    ['/moved', '/there', true],
  ] as const) {
    const answer = await plainFetch(`${url}${path}`, init);

    t.is(answer.ok, ok, path);
    t.deepEqual(
      await answer.json(),
      { path: arrived, method: 'POST', authorization: 'Bearer key', body: '{"ä":1}' },
      path,
    );
  }
  t.like(await (await plainFetch(new URL('/here', url))).json(), { method: 'GET', body: '' });
});

test('what is no JSON, nobody who listens, and a call that is given up are failures that say so', async (t) => {
  const url = await serve(t);

  await t.throwsAsync(async () => (await plainFetch(`${url}/page`)).json(), { message: /JSON/u });
  await t.throwsAsync(plainFetch('http://127.0.0.1:1/'), { code: 'ECONNREFUSED' });
  const silence = await t.throwsAsync(plainFetch(`${url}/never`, {}, 50), { code: NO_ANSWER });
  const { message } = problemOf(TRPCClientError.from(silence ?? new Error('none')), { url, key: null });
  t.is(
    message,
    `${url} took the call and has not answered for 60 s: it may stand still, and what was asked for may be done. Look before you ask again`,
  );
  await t.throwsAsync(plainFetch(`${url}/never`, { signal: AbortSignal.timeout(50) }), { name: 'AbortError' });
});

test('many calls over one connection leave nothing on it', async (t) => {
  const url = await serve(t);
  const warnings: string[] = [];
  const hear = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', hear);
  t.teardown(() => void process.off('warning', hear));

  for (let call = 0; call < 15; call += 1) await (await plainFetch(`${url}/again`)).json();
  await setImmediate();

  t.deepEqual(warnings, []);
});

/** Says at the end of its process whether Node's own fetch was loaded. */
const WATCH = `process.on('exit', () => console.log('fetch', process.moduleLoadList.some((name) => name.includes('undici/undici'))));`;

test('a short command loads no fetch', (t) => {
  const said = (...words: readonly string[]) =>
    spawnSync(process.execPath, ['--import', `data:text/javascript,${WATCH}`, ...words], {
      cwd: ROOT,
      encoding: 'utf8',
    }).stdout;
  t.is(
    said('cli/edge.ts', '--url', 'http://127.0.0.1:1', '--key', 'some-key-of-a-test', 'node', 'ls'),
    'fetch false\n',
  );
  t.is(said('-e', 'WebSocket'), 'fetch true\n', 'this can be seen');
});
