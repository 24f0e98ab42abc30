/** Where an agent's tunnel comes in: a one-time token, then bytes. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { TUNNEL_MESSAGE_BYTES_MAX, TUNNEL_UNREAD_BYTES_MAX } from '../protocol/tunnel.ts';
import { TUNNEL_SUBPROTOCOL } from '../protocol/version.ts';
import { webSocketStream } from '../net/streams/web-socket-stream.ts';
import type { Tunnels, TunnelWay } from './tunnels.ts';
import { createMinorGc } from './minor-gc.ts';

/**
 * Handles upgrades of the tunnel path that come by this way. A token that nobody waits for gets 401, whatever else is
 * right.
 */
export function createTunnelGate(
  tunnels: Pick<Tunnels, 'redeem' | 'accept'>,
  way: TunnelWay,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: TUNNEL_MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: (offered) => (offered.has(TUNNEL_SUBPROTOCOL) ? TUNNEL_SUBPROTOCOL : false),
  });
  const passed = createMinorGc();
  return (request, socket, head) => {
    const token = /^Bearer ([\w-]{22,128})$/iu.exec(request.headers.authorization ?? '')?.[1];
    const node = token === undefined ? null : tunnels.redeem(token);
    if (node === null) return refuse(socket, '401 Unauthorized', 'www-authenticate: Bearer\r\n');
    server.handleUpgrade(request, socket, head, (webSocket) => {
      if (webSocket.protocol !== TUNNEL_SUBPROTOCOL) return webSocket.terminate();
      tunnels.accept(node, webSocketStream(webSocket, TUNNEL_UNREAD_BYTES_MAX, passed), way);
    });
  };
}

function refuse(socket: Duplex, status: string, headers: string): void {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\n${headers}connection: close\r\ncontent-length: 0\r\n\r\n`);
}
