/** tRPC over WebSocket, on the API's own server. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { getWSConnectionHandler } from '@trpc/server/adapters/ws';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';
import type { Clock, Log } from '../../actors/kit/ports.ts';
import type { Caller } from '../principals.ts';
import type { RequestRecords } from '../request-record.ts';
import { addressOf, bearerOf } from '../rest/requests.ts';
import type { UpgradeHandler } from '../rest/upgrades.ts';
import type { TrpcContext } from './context.ts';
import { createEncoder } from './encoder.ts';
import { logBug } from './http.ts';
import type { AppRouter } from './router.ts';

/**
 * What one client may send: bytes of a message (the default of MAX_BODY_BYTES), pieces of one, chunks that wait to become one,
 * and pings that wait for our pong. `ws` itself would accept 100 MiB. Its types do not know the last one yet.
 */
const SOCKET_LIMITS: ServerOptions & { readonly maxPendingAutoPongs: number } = {
  maxPayload: 1_048_576, maxFragments: 64, maxBufferedChunks: 1_024, maxPendingAutoPongs: 16, perMessageDeflate: false,
};

/** Connections at a time. */
const CONNECTIONS_MAX = 10_000;

/** Calls and subscriptions under way on one connection. */
const CALLS_MAX = 256;

/** Bytes waiting in a socket above which its subscriptions wait. Source: design.md 5. */
const BUFFERED_BYTES_MAX = 1_048_576;

/** Bytes waiting in a socket above which it is cut: a client that asks and does not read. */
const UNREAD_BYTES_MAX = 33_554_432;

/** How often a full socket is looked at again, in ms. */
const ROOM_POLL_MS = 20;

/** A quiet client is pinged after this, and cut when it does not answer, in ms. */
const PING_MS = 20_000;
const PONG_MS_MAX = 10_000;

/** tRPC over WebSocket, as the server mounts it. */
export interface TrpcSockets {
  readonly onUpgrade: UpgradeHandler;
  /** Hangs up on everyone (1001): clients reconnect and go on where they were. */
  close(): void;
}

/** The router over WebSocket. */
export function createTrpcSockets(router: AppRouter, clock: Clock, records: RequestRecords, log: Log): TrpcSockets {
  const server = new WebSocketServer({ noServer: true, ...SOCKET_LIMITS });
  const connected = getWSConnectionHandler<AppRouter>({
    wss: server, router,
    createContext: ({ req, res, info }) => contextOf(req, res, { authorization: info.connectionParams?.['authorization'], traceparent: info.connectionParams?.['traceparent'] ?? req.headers.traceparent }, { clock, records }),
    keepAlive: { enabled: true, pingMs: PING_MS, pongWaitMs: PONG_MS_MAX },
    experimental_encoder: createEncoder(),
    onError: ({ error }) => logBug(log, error, null),
  });

  return {
    onUpgrade(request, socket, head) {
      if (server.clients.size >= CONNECTIONS_MAX) {
        socket.end('HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\r\n');
        return;
      }
      server.handleUpgrade(request, socket, head, (client) => {
        client.on('error', () => client.terminate());
        connected(client, request);
      });
    },
    close() {
      for (const client of server.clients) client.close(1001, 'shutting down');
      server.close();
    },
  };
}

/** What a connection said when it was made: it stands for each call. */
interface Said {
  readonly authorization: string | undefined;
  readonly traceparent: unknown;
}

function contextOf(request: IncomingMessage, socket: WebSocket, { authorization, traceparent }: Said, { clock, records }: { readonly clock: Clock; readonly records: RequestRecords }): TrpcContext {
  const caller: Omit<Caller, 'requestId'> = { surface: 'trpc', credential: bearerOf(authorization ?? request.headers.authorization), address: addressOf(request), host: request.headers.host, idempotencyKey: null };
  const isFull = (): boolean => socket.readyState === socket.OPEN && socket.bufferedAmount > BUFFERED_BYTES_MAX;
  const drained = async (): Promise<void> => {
    while (isFull()) await new Promise<void>((resolve) => { clock.after(ROOM_POLL_MS, resolve); });
  };
  let calls = 0;
  return {
    caller: () => ({ ...caller, requestId: randomUUID(), record: records.begin(traceparent) }),
    begin() {
      if (socket.bufferedAmount > UNREAD_BYTES_MAX) socket.terminate();
      if (calls >= CALLS_MAX) return false;
      calls += 1;
      return true;
    },
    done() {
      calls -= 1;
    },
    room: () => isFull() ? drained() : null,
  };
}
