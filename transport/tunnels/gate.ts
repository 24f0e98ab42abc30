/** Where an agent's tunnel comes in: a one-time token, then bytes. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { TUNNEL_MESSAGE_BYTES_MAX, TUNNEL_UNREAD_BYTES_MAX } from '../protocol/tunnel.ts';
import { TUNNEL_SUBPROTOCOL, TUNNEL_UPGRADE } from '../protocol/version.ts';
import { socketStream } from '../net/streams/socket-stream.ts';
import { webSocketStream } from '../net/streams/web-socket-stream.ts';
import type { Intake } from '../net/streams/paced-pieces.ts';
import type { Tunnels, TunnelWay } from './tunnels.ts';
import { COLLECTED_BYTES, createMinorGc } from './minor-gc.ts';

/**
 * A tunnel that another admin passed on: the token that came with it, or the status that this gets. `open`: where its
 * bytes are sealed, what the agent's are, of the connection and what came behind the upgrade.
 */
export type ReceivedTunnel =
  | { readonly token: string; readonly open: ((socket: Duplex, head: Buffer) => Duplex) | null }
  | { readonly refused: string };

/** By which tunnels find the admin that waits for them when they came to another one. */
export interface TunnelRelay {
  /** What another admin passed on with this upgrade; null: it comes from an agent. */
  received(request: IncomingMessage): ReceivedTunnel | null;
  /**
   * Takes over the upgrade with this token, which is not one of this admin's. False: it is that of nobody who is alive,
   * and nothing was done.
   */
  passOn(token: string, upgrade: TunnelUpgrade): boolean;
}

/** An upgrade as it came in. */
export interface TunnelUpgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request already. */
  readonly head: Buffer;
  /** To be called when the admin that the token is of does not know it either. */
  readonly wrong: () => void;
}

/** What the gate needs besides tunnels. Left out: it is alone, and counts nothing. */
export interface TunnelGatePorts {
  readonly relay?: TunnelRelay;
  /** A token came that nobody waits for. */
  readonly wrong?: (request: IncomingMessage) => void;
}

/**
 * Handles upgrades of the tunnel path that come by this way. A token that nobody waits for gets 401, whatever else is
 * right.
 */
export function createTunnelGate(
  tunnels: Pick<Tunnels, 'redeem' | 'accept'>,
  way: TunnelWay,
  { relay, wrong }: TunnelGatePorts = {},
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: TUNNEL_MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: (offered) => (offered.has(TUNNEL_SUBPROTOCOL) ? TUNNEL_SUBPROTOCOL : false),
  });
  const passed = createMinorGc(COLLECTED_BYTES);
  return (request, carrier, sent) => {
    const received = relay?.received(request) ?? null;
    if (received !== null && 'refused' in received) return refuse(carrier, received.refused);
    const token = received?.token ?? /^Bearer ([\w-]{22,128})$/iu.exec(request.headers.authorization ?? '')?.[1];
    const node = token === undefined ? null : tunnels.redeem(token);
    if (node === null) {
      // What was passed on goes no further, and is counted where it came from.
      const isWrong = (): void => void (received === null && wrong?.(request));
      if (received === null && token !== undefined)
        if (relay?.passOn(token, { request, socket: carrier, head: sent, wrong: isWrong }) === true) return;
      isWrong();
      return refuse(carrier, '401 Unauthorized', 'www-authenticate: Bearer\r\n');
    }
    const opened = received?.open?.(carrier, sent);
    const [socket, head] = opened === undefined ? [carrier, sent] : [opened, NOTHING];
    if (request.headers.upgrade?.toLowerCase() === TUNNEL_UPGRADE) {
      socket.write(SWITCHED);
      const open = (intake: Intake) => socketStream(socket, TUNNEL_UNREAD_BYTES_MAX, { head, passed, intake });
      return tunnels.accept(node, open, way);
    }
    server.handleUpgrade(request, socket, head, (webSocket) => {
      if (webSocket.protocol !== TUNNEL_SUBPROTOCOL) return webSocket.terminate();
      tunnels.accept(node, (intake) => webSocketStream(webSocket, TUNNEL_UNREAD_BYTES_MAX, { passed, intake }), way);
    });
  };
}

const NOTHING = Buffer.alloc(0);

const SWITCHED = `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${TUNNEL_UPGRADE}\r\n\r\n`;

function refuse(socket: Duplex, status: string, headers = ''): void {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\n${headers}connection: close\r\ncontent-length: 0\r\n\r\n`);
}
