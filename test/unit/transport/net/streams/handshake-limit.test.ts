/**
 * Servers that go on and on before they answer an upgrade: whoever asked gives them up, whatever they say. One that is
 * slow, and a proxy before it, has its time.
 */
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { setInterval } from 'node:timers';
import test from 'ava';
import { WebSocketServer } from 'ws';
import { AgentTunnels } from '../../../../../agent/access/tunnel/tunnels.ts';
import { URL_DIAL_MS_MAX } from '../../../../../agent/access/tunnel/ways.ts';
import { createOutbound } from '../../../../../agent/outbound/outbound.ts';
import { webSocketDial } from '../../../../../agent/session/dial.ts';
import { PeerKeys } from '../../../../../transport/admins/peer-key.ts';
import { dialSealed } from '../../../../../transport/admins/sealed-connections.ts';
import { createVet } from '../../../../../transport/net/outbound-guard/vetting.ts';
import { handshakeLate } from '../../../../../transport/net/streams/handshake-limit.ts';
import { DERP_FORMS, FormRefused, openRelayStream } from '../../../../../transport/vpn/derp/stream.ts';
import { RelayUnreachable } from '../../../../../transport/vpn/derp/socket.ts';
import { silentLog } from '../../../../support/log.ts';
import { listening } from '../../../../support/net/listening.ts';
import { sayingRelay } from '../../../../support/vpn/relay.ts';

/** How long an upgrade may take here, in ms, or be silent: the server says something many times within it. */
const HANDSHAKE_MS_MAX = 500;
const AGAIN_MS = 10;

/** What a proxy says that reached an admin, and that admin. */
const OPENED_AND_BUSY = 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n';

/** Both ways to say something and never to answer. */
const SAYINGS = {
  'interim answers': (at: number) => (at === 0 ? '' : 'HTTP/1.1 103 Early Hints\r\n\r\n'),
  'a header byte by byte': (at: number) => (at === 0 ? 'HTTP/1.1 101 Switching Protocols\r\nX: ' : 'x'),
};

function sayingOn(socket: Duplex, saying: (at: number) => string): NodeJS.Timeout {
  let at = 0;
  const timer = setInterval(() => socket.write(saying(at++)), AGAIN_MS);
  socket.on('error', () => {}).on('close', () => clearInterval(timer));
  return timer;
}

for (const [what, saying] of Object.entries(SAYINGS)) {
  test(`an admin that answers an upgrade with ${what} is given up by an agent and by other admins`, async (t) => {
    const port = await listening(
      t,
      createServer((socket) => void socket.once('data', () => void sayingOn(socket, saying))),
    );
    const url = `http://127.0.0.1:${port}`;

    const session = new Promise((closed) => {
      const owner = { opened() {}, message() {}, closed: (_link: unknown, _code: number, why: string) => closed(why) };
      webSocketDial()(url, 'token', owner, { handshakeMsMax: HANDSHAKE_MS_MAX });
    });
    const link = new Promise((ended) => {
      const peer = { id: 'a', name: 'a', instance: 'b', url, version: 1 };
      const keys = new PeerKeys(() => [{ id: 'root', bytes: Buffer.alloc(32, 1) }], { admin: 'c', instance: 'd' });
      dialSealed(
        { peer, path: '/link', messageBytesMax: 1_024, dialMsMax: HANDSHAKE_MS_MAX },
        { keys, peers: { misled() {} }, nowMs: 0 },
        { opened: () => ended('opened'), failed: () => ended('failed') },
      );
    });

    t.deepEqual(await Promise.all([session, link]), [handshakeLate().message, 'failed']);
  });

  test(`a relay that answers with ${what} is given up, in both of its forms`, async (t) => {
    const region = await sayingRelay(t, (socket) => void sayingOn(socket, saying));
    const reach = { vet: createVet({ allowPrivate: true, allowLoopback: true }) };
    const [node] = region.nodes;

    const errors = await Promise.all(
      DERP_FORMS.map((form) =>
        openRelayStream(node, form, reach, new AbortController().signal, HANDSHAKE_MS_MAX).catch(
          (error: unknown) => error as Error,
        ),
      ),
    );

    t.deepEqual(
      errors.map((error) => [error.constructor, (error as Error).message]),
      [
        [FormRefused, '127.0.0.1 did not answer within 500 ms'],
        [RelayUnreachable, '127.0.0.1 did not answer within 500 ms'],
      ],
    );
  });
}

test('an admin that takes longer than it may be silent, and never is for so long, is reached: session and tunnel', async (t) => {
  const http = createHttpServer();
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: ([asked]) => asked ?? false });
  http.on('upgrade', (request, socket, head) => {
    const timer = sayingOn(socket, SAYINGS['interim answers']);
    setTimeout(
      () => {
        clearInterval(timer);
        if (!socket.destroyed)
          sockets.handleUpgrade(request, socket, head, (opened) => sockets.emit('connection', opened));
      },
      URL_DIAL_MS_MAX + 20 * AGAIN_MS,
    );
  });
  const url = `http://127.0.0.1:${await listening(t, http)}`;
  let isPassedOver = (_what: string): void => {};
  const other = await listening(
    t,
    createServer(() => isPassedOver('passed over')),
  );
  const tunnels = new AgentTunnels({
    egress: { dial: () => Promise.reject(new Error('nobody is dialled')) },
    join: () => {},
    log: silentLog,
  });
  t.teardown(() => tunnels.close());

  const session = new Promise((came) => {
    const closed = (_link: unknown, _code: number, why: string): void => came(why);
    const owner = { opened: () => came('opened'), message() {}, closed };
    webSocketDial()(url, 'token', owner, { handshakeMsMax: URL_DIAL_MS_MAX });
  });
  const tunnel = new Promise((came) => {
    isPassedOver = came;
    sockets.on('connection', (socket) => {
      if (socket.protocol.includes('tunnel')) came('opened');
    });
  });
  tunnels.open([url, `http://127.0.0.1:${other}`], 'token');

  t.deepEqual(await Promise.all([session, tunnel]), ['opened', 'opened']);
  for (const socket of sockets.clients) socket.terminate();
});

test('the time that a proxy takes is none of the upgrade behind it', async (t) => {
  const port = await listening(
    t,
    createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => setTimeout(() => socket.end(OPENED_AND_BUSY), HANDSHAKE_MS_MAX));
    }),
  );
  const outbound = createOutbound({ HTTP_PROXY: `http://127.0.0.1:${port}` });

  const why = await new Promise((closed) => {
    const owner = { opened() {}, message() {}, closed: (_link: unknown, _code: number, what: string) => closed(what) };
    webSocketDial({}, outbound)('http://admin.example', 'token', owner, { handshakeMsMax: HANDSHAKE_MS_MAX / 10 });
  });

  t.is(why, 'it answered 503');
});
