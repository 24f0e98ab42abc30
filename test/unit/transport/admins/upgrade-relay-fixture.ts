/** Admins whose gates say everything back, and agents that come to them on plain sockets. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TUNNEL_PATH } from '../../../../transport/protocol/version.ts';
import { AT_ONCE } from '../../../../transport/net/streams/paced-pieces.ts';
import { createTunnelGate, type TunnelRelay } from '../../../../transport/tunnels/gate.ts';
import type { LinkedAdmin } from '../../../support/linked-admins.ts';
import type { Scope } from '../../../support/scope.ts';
import { NODE } from '../../../support/net/tunnels-fixture.ts';

/** Upgrades that came to an admin which says everything back, and how many of them had a token that nobody knows. */
export interface Gate {
  readonly seen: IncomingMessage[];
  wrong: number;
}

const echo = (bytes: Duplex): Duplex => bytes.pipe(bytes);

/** Lets tunnels with this token in at an admin. */
export function openGate(
  admin: LinkedAdmin,
  token: string | null,
  relay: TunnelRelay = admin.links.relays.tunnels,
): Gate {
  const waiting = new Set(token === null ? [] : [token]);
  const state: Gate = { seen: [], wrong: 0 };
  const gate = createTunnelGate(
    {
      redeem: (shown) => (waiting.delete(shown) ? NODE : null),
      accept: (_node, open) => void echo(open(AT_ONCE)),
    },
    'url',
    { relay, wrong: () => void (state.wrong += 1) },
  );
  admin.served.api.onUpgrade(TUNNEL_PATH, (request, socket, head) => {
    state.seen.push(request);
    gate(request, socket, head);
  });
  return state;
}

/** An agent without WebSockets: what it says of itself, and its socket. */
export async function raw(t: Scope, admin: LinkedAdmin, token: string, upgrade = 'websocket'): Promise<Socket> {
  const socket = connect({ port: Number(new URL(admin.served.url).port), host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(
    `GET ${TUNNEL_PATH} HTTP/1.1\r\nhost: x\r\nupgrade: ${upgrade}\r\nconnection: Upgrade\r\nauthorization: Bearer ${token}\r\n\r\n`,
  );
  return socket;
}

/** An upgrade that is taken. */
export const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n';
