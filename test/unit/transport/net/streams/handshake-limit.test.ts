/** Servers that go on and on before they answer an upgrade: whoever asked gives them up, whatever they say. */
import { createServer, type Socket } from 'node:net';
import { setInterval } from 'node:timers';
import test from 'ava';
import { webSocketDial } from '../../../../../agent/session/dial.ts';
import { PeerKeys } from '../../../../../transport/admins/peer-key.ts';
import { dialSealed } from '../../../../../transport/admins/sealed-connections.ts';
import { createVet } from '../../../../../transport/net/outbound-guard/vetting.ts';
import { handshakeLate } from '../../../../../transport/net/streams/handshake-limit.ts';
import { DERP_FORMS, FormRefused, openRelayStream } from '../../../../../transport/vpn/derp/stream.ts';
import { RelayUnreachable } from '../../../../../transport/vpn/derp/socket.ts';
import { listening } from '../../../../support/net/listening.ts';
import { sayingRelay } from '../../../../support/vpn/relay.ts';

/** How long an upgrade may take here, in ms: the server says something many times within it. */
const HANDSHAKE_MS_MAX = 500;
const AGAIN_MS = 10;

/** Both ways to say something and never to answer. */
const SAYINGS = {
  'interim answers': (at: number) => (at === 0 ? '' : 'HTTP/1.1 103 Early Hints\r\n\r\n'),
  'a header byte by byte': (at: number) => (at === 0 ? 'HTTP/1.1 101 Switching Protocols\r\nX: ' : 'x'),
};

function sayingOn(socket: Socket, saying: (at: number) => string): void {
  let at = 0;
  const timer = setInterval(() => socket.write(saying(at++)), AGAIN_MS);
  socket.on('error', () => {}).on('close', () => clearInterval(timer));
}

for (const [what, saying] of Object.entries(SAYINGS)) {
  test(`an admin that answers an upgrade with ${what} is given up by an agent and by other admins`, async (t) => {
    const port = await listening(
      t,
      createServer((socket) => void socket.once('data', () => sayingOn(socket, saying))),
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
    const region = await sayingRelay(t, (socket) => sayingOn(socket, saying));
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
