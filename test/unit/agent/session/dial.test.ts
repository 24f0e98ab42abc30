import { createServer } from 'node:http';
import { createServer as createNetServer, type AddressInfo } from 'node:net';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { sessionUrl, webSocketDial } from '../../../../agent/session/dial.ts';
import type { Link, LinkOwner } from '../../../../agent/session/ports.ts';
import { FRAME_BYTES_MAX } from '../../../../transport/protocol/limits.ts';
import { listening } from '../../../support/net/listening.ts';
import { column } from '../../../support/database/columns.ts';

/** More than this process is held up by what else runs in it, in ms. */
const LONG_TIMEOUT_MS = 300_000;

/** Dials a server that does `welcome` with each connection, and collects what the link tells. */
async function dialled(t: ExecutionContext, welcome: (socket: WebSocket) => void, refusal: string | null = null) {
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  const headers: Record<string, unknown>[] = [];
  http.on('upgrade', (request, socket, head) => {
    headers.push(request.headers);
    if (refusal !== null) socket.end(refusal);
    else sockets.handleUpgrade(request, socket, head, welcome);
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    for (const socket of sockets.clients) socket.terminate();
    http.close();
  });
  const texts: string[] = [];
  const over = await new Promise<{ code: number; reason: string }>((resolve) => {
    const owner: LinkOwner = {
      opened: (link: Link) => link.send('hi'),
      message: (_link, text) => {
        texts.push(text);
      },
      closed: (_link, code, reason) => resolve({ code, reason }),
    };
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    webSocketDial()(url, 'secret', owner, { handshakeMsMax: LONG_TIMEOUT_MS });
  });
  return { ...over, texts, headers };
}

test("the address keeps the admin's own path and encryption", (t) => {
  t.is(sessionUrl('https://a.test'), 'wss://a.test/api/v1/agents/session');
  t.is(sessionUrl('http://a.test:4000/edge/'), 'ws://a.test:4000/edge/api/v1/agents/session');
});

test('the token goes in the header, never in the address, with the subprotocol', async (t) => {
  const { headers, code, reason } = await dialled(t, (socket) =>
    socket.on('message', () => socket.close(4_003, 'node deleted')),
  );

  t.like(headers[0], { authorization: 'Bearer secret', 'sec-websocket-protocol': 'edge.session.v1' });
  t.is(headers[0]?.['sec-websocket-extensions'], undefined, 'no compression');
  t.deepEqual({ code, reason }, { code: 4_003, reason: 'node deleted' });
});

test('a message over the limit of a frame ends the connection', async (t) => {
  const { texts, code } = await dialled(t, (socket) => {
    socket.send('x'.repeat(FRAME_BYTES_MAX));
    socket.send('x'.repeat(FRAME_BYTES_MAX + 1));
  });

  t.deepEqual(column(texts, 'length'), [FRAME_BYTES_MAX]);
  t.is(code, 1_006);
});

test('a binary message is no frame', async (t) => {
  const { texts } = await dialled(t, (socket) => {
    socket.send(Buffer.from('{"seq":1,"type":"pong"}'));
    socket.close(1_000);
  });

  t.deepEqual(texts, ['']);
});

test('a refused connection is told with its status, and a redirect is not followed', async (t) => {
  const refused = await dialled(
    t,
    () => {},
    'HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
  );
  const redirected = await dialled(
    t,
    () => {},
    'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
  );

  t.like(refused, { code: 401, reason: 'it answered 401' });
  t.like(redirected, { code: 302, reason: 'it answered 302' });
});

test('an admin that is not there is a closed link, never a throw', async (t) => {
  const over = await new Promise<{ readonly code: number; readonly reason: string }>((resolve) => {
    const owner: LinkOwner = {
      opened() {},
      message() {},
      closed: (_link, code, reason) => resolve({ code, reason }),
    };
    webSocketDial()('http://127.0.0.1:1', 'secret', owner, { handshakeMsMax: LONG_TIMEOUT_MS });
  });

  t.deepEqual(over, { code: 1_006, reason: 'connection refused' });
});

test('an admin that takes the connection and does not answer is given up as soon as it is wanted', async (t) => {
  const port = await listening(t, createNetServer());
  const over = (handshakeMsMax?: number) =>
    new Promise<{ readonly code: number; readonly handshakeMsMax: number | undefined }>((resolve) => {
      const owner: LinkOwner = {
        opened() {},
        message() {},
        closed: (_link, code) => resolve({ code, handshakeMsMax }),
      };
      const how = handshakeMsMax === undefined ? {} : { handshakeMsMax };
      webSocketDial()(`http://127.0.0.1:${port}`, 'secret', owner, how);
    });

  const first = await Promise.race([over(), over(50)]); // also where both times pass at once

  t.deepEqual(first, { code: 1_006, handshakeMsMax: 50 });
});

for (const [what, url, token] of [
  ['no web address', 'mailto:edge@example.com', 'secret'],
  ['no URL at all', 'not a url', 'secret'],
  ['a URL with a port that cannot be', 'http://127.0.0.1:99999', 'secret'],
  ['a token that no header holds', 'http://127.0.0.1:1', 'se\ncret'],
] as const) {
  test(`an admin that named ${what} is one that cannot be reached, and ends nothing`, async (t) => {
    const over = await new Promise<{ readonly code: number; readonly reason: string }>((resolve) => {
      webSocketDial()(url, token, {
        opened: () => t.fail(),
        message: () => t.fail(),
        closed: (_link, code, reason) => resolve({ code, reason }),
      });
    });

    t.is(over.code, 1_006);
    t.not(over.reason, '');
    t.false(over.reason.includes('cret'));
  });
}

test('a message whose handling throws ends the connection and nothing else', async (t) => {
  const http = createServer();
  const sockets = new WebSocketServer({ server: http });
  sockets.on('connection', (socket) => socket.send('poison'));
  const port = await listening(t, http);

  const over = await new Promise<{ readonly code: number; readonly reason: string }>((resolve) => {
    const owner: LinkOwner = {
      opened: () => {},
      message: () => {
        throw new Error('it cannot be handled');
      },
      closed: (_link, code, reason) => resolve({ code, reason }),
    };
    webSocketDial()(`http://127.0.0.1:${port}`, 'secret', owner, { handshakeMsMax: LONG_TIMEOUT_MS });
  });

  t.deepEqual(over, { code: 1_006, reason: 'a frame could not be handled: it cannot be handled' });
});
