import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { ANSWER_BYTES_MAX, postJson } from '../../../../agent/outbound/http-exchange.ts';
import { listening } from '../../../support/net/listening.ts';

async function server(t: ExecutionContext, listener: RequestListener): Promise<string> {
  const http = createServer(listener);
  const port = await listening(t, http);
  return `http://127.0.0.1:${port}/`;
}

test('the body goes as JSON and the answer comes back parsed', async (t) => {
  const url = await server(t, (request, response) => {
    let text = '';
    request.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    request.on('end', () =>
      response.writeHead(201).end(JSON.stringify({ got: JSON.parse(text), type: request.headers['content-type'] })),
    );
  });

  t.deepEqual(await postJson(url, { a: 'é' }), { status: 201, body: { got: { a: 'é' }, type: 'application/json' } });
});

test('an answer without JSON has no body', async (t) => {
  const url = await server(t, (_request, response) => response.writeHead(502).end('<html>'));

  t.deepEqual(await postJson(url, {}), { status: 502, body: null });
});

test('an answer that never ends is cut at its limit', async (t) => {
  const url = await server(t, (_request, response) => {
    response.writeHead(200);
    const more = () => {
      while (response.writable && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  });

  await t.throwsAsync(postJson(url, {}), { message: 'the answer is too large' });
  t.true(ANSWER_BYTES_MAX < 1_048_576);
});

test('a redirect is not followed', async (t) => {
  let requests = 0;
  const url = await server(t, (_request, response) => {
    requests += 1;
    response.writeHead(307, { location: '/elsewhere' }).end();
  });

  t.like(await postJson(url, {}), { status: 307 });
  t.is(requests, 1);
});

test('what goes wrong is said in one sentence', async (t) => {
  const url = await server(t, (request) => request.destroy());

  await t.throwsAsync(postJson('http://127.0.0.1:1/', {}), { message: 'connection refused' });
  await t.throwsAsync(postJson(url, {}), { message: 'socket hang up' });
});
