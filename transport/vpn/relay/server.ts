/**
 * The listener of a relay: HTTP over TLS on a port of its own, with the upgrade to DERP, its WebSocket form, and the
 * probes that clients of the protocol make.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocketServer } from 'ws';
import {
  DERP_PATH,
  DERP_SUBPROTOCOL,
  DERP_VERSION,
  HTTP_HEADER_BYTES_MAX,
  PACKET_FRAME_BYTES_MAX,
} from '../derp/protocol.ts';
import { boundPipelining } from '../../net/streams/pipelining.ts';
import { CONNECTIONS_MAX, HANDSHAKE_MS_MAX, UNAUTHENTICATED_MAX } from './limits.ts';
import type { Relay } from './relay.ts';

/** Where and as whom it listens. */
export interface RelayServerOptions {
  readonly relay: Pick<Relay, 'publicKey' | 'accept' | 'close'>;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  /** The relay map that is served under /derp-map.json; null: none. */
  readonly map: (() => unknown) | null;
  readonly connectionsMax?: number;
}

/** A relay that listens. */
export interface RelayServer {
  readonly port: number;
  isListening(): boolean;
  /** Resolves when all connections are closed. */
  close(): Promise<void>;
}

/** What browsers and probes get. Source: cmd/derper. */
export const PROBES: ReadonlySet<string> = new Set(['/derp/probe', '/derp/latency-check']);

/** How often those that did not ask in time are looked for, in ms: by Node's default they would stay 30 s longer. */
const LATE_LOOK_MS = 1_000;

/** How clients are listened to, whoever they are. */
const SERVER_OPTIONS = {
  minVersion: 'TLSv1.2',
  handshakeTimeout: HANDSHAKE_MS_MAX,
  headersTimeout: HANDSHAKE_MS_MAX,
  requestTimeout: HANDSHAKE_MS_MAX,
  connectionsCheckingInterval: LATE_LOOK_MS,
  maxHeaderSize: HTTP_HEADER_BYTES_MAX,
  noDelay: true,
  keepAlive: true,
} as const;

/** Listens. Rejects with what the system says. */
export async function listenForRelay({
  relay,
  host,
  port,
  certificate,
  key,
  map,
  connectionsMax = CONNECTIONS_MAX,
}: RelayServerOptions): Promise<RelayServer> {
  const server = createServer({ cert: certificate, key, ...SERVER_OPTIONS, shouldUpgradeCallback: isUpgrade });
  server.maxConnections = connectionsMax + UNAUTHENTICATED_MAX; // those that did not ask for anything yet included
  boundPipelining(server.on('request', (request, answer) => respond(request, answer, map)));
  server.on('upgrade', upgradesTo(relay));
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on('clientError', (_error, socket) => socket.destroy());
  server.listen({ host, port });
  await once(server, 'listening');
  server.on('error', () => {}); // of one accept, such as too many open files: the next may do
  return {
    port: (server.address() as AddressInfo).port,
    isListening: () => server.listening,
    async close() {
      relay.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** Whether a request is an upgrade: what offers another protocol is answered as if it had not (RFC 9110, 7.8). */
function isUpgrade({ headers }: IncomingMessage): boolean {
  return CARRIERS.has(headers.upgrade?.toLowerCase());
}

/** What DERP comes as. */
const CARRIERS: ReadonlySet<string | undefined> = new Set(['derp', 'websocket']);

/** Takes what asks for DERP, in either form, and refuses the rest. */
function upgradesTo(
  relay: RelayServerOptions['relay'],
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: PACKET_FRAME_BYTES_MAX * 2,
    handleProtocols: (offered) => (offered.has(DERP_SUBPROTOCOL) ? DERP_SUBPROTOCOL : false),
  });
  return (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    const address = request.socket.remoteAddress ?? '';
    const protocol = request.headers.upgrade?.toLowerCase();
    if (pathOf(request) !== DERP_PATH) refuse(socket, '404 Not Found');
    else if (protocol === 'derp') {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: DERP\r\nConnection: Upgrade\r\nDerp-Version: ${DERP_VERSION}\r\nDerp-Public-Key: ${relay.publicKey}\r\n\r\n`,
      );
      relay.accept(socket, head, address);
    } else if (protocol === 'websocket' && offersDerp(request)) {
      sockets.handleUpgrade(request, socket, head, (webSocket) =>
        relay.accept(createWebSocketStream(webSocket), Buffer.alloc(0), address),
      );
    } else refuse(socket, '426 Upgrade Required');
  };
}

function respond(request: IncomingMessage, answer: ServerResponse, map: RelayServerOptions['map']): void {
  const path = pathOf(request);
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return tell(answer, 405, 'Only GET and HEAD are answered here.\n');
  if (PROBES.has(path)) {
    answer.setHeader('access-control-allow-origin', '*');
    return tell(answer, 200, '');
  }
  if (path === '/generate_204') return tell(answer, 204, '');
  if (path === '/derp-map.json' && map !== null) {
    answer.setHeader('content-type', 'application/json');
    return tell(answer, 200, `${JSON.stringify(map())}\n`);
  }
  if (path === DERP_PATH) {
    answer.setHeader('upgrade', 'DERP');
    return tell(answer, 426, 'DERP requires connection upgrade.\n');
  }
  tell(answer, path === '/' ? 200 : 404, path === '/' ? 'A relay of the DERP protocol.\n' : 'No such route.\n');
}

function tell(answer: ServerResponse, status: number, text: string): void {
  if (!answer.hasHeader('content-type') && text !== '') answer.setHeader('content-type', 'text/plain; charset=utf-8');
  answer.setHeader('cache-control', 'no-store');
  answer.writeHead(status).end(text); // Node sends no body to a HEAD
}

function refuse(socket: Duplex, status: string): void {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

function offersDerp(request: IncomingMessage): boolean {
  return (request.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .some((offered) => offered.trim() === DERP_SUBPROTOCOL);
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? '';
}
