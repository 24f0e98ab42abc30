/** tRPC over WebSocket, on the API's own server. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { getWSConnectionHandler } from '@trpc/server/adapters/ws';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import type { Caller, Gate } from '../principals.ts';
import type { Principal } from '../surface.ts';
import type { RequestRecords } from '../request-record.ts';
import { addressOf, bearerOf } from '../rest/requests.ts';
import type { UpgradeHandler } from '../rest/upgrades.ts';
import { createShares, type ShareLimits } from '../shares.ts';
import type { TrpcContext } from './context.ts';
import { createEncoder, MESSAGE_CALLS_MAX } from './encoder.ts';
import { throwRefusal } from './errors.ts';
import { logBug } from './http.ts';
import type { AppRouter } from './router.ts';
import { BUFFERED_BYTES_MAX, boundUnreadBytes, UNREAD_BYTES_MAX } from './unread-bytes.ts';
import { createUnauthenticatedConnections } from './unauthenticated-connections.ts';

/**
 * What one client may send: bytes of a message (the default of MAX_BODY_BYTES), pieces of one, chunks that wait to
 * become one, and pings that wait for our pong. `ws` itself would accept 100 MiB. Its types do not know the last one
 * yet.
 */
const SOCKET_LIMITS: ServerOptions & { readonly maxPendingAutoPongs: number } = {
  maxPayload: 1_048_576,
  maxFragments: 64,
  maxBufferedChunks: 1_024,
  maxPendingAutoPongs: 16,
  perMessageDeflate: false,
};

/**
 * Connections that showed a key, at a time, and of these with one key and from one address: none takes the places of
 * all others.
 */
const CONNECTIONS: ShareLimits = { placesMax: 10_000, ofOneKeyMax: 8_000, ofOneAddressMax: 5_000 };

/** Calls and subscriptions under way on one connection. */
const CALLS_MAX = MESSAGE_CALLS_MAX;

/** How often a full socket is looked at again, in ms. */
const ROOM_POLL_MS = 20;

/** A quiet client is pinged after this, and cut when it does not answer, in ms. */
const PING_MS = 20_000;
const PONG_MS_MAX = 10_000;

/** tRPC over WebSocket, as the server mounts it. */
export interface TrpcSockets {
  readonly onUpgrade: UpgradeHandler;
  /**
   * Takes one over whose page signed in before: it shows no key, and whatever it shows as one counts for nothing. Null:
   * the API asks for none. `taken` gets what ends it: nothing that comes after its `close` is of the session any more.
   */
  takeSignedIn(
    upgrade: Parameters<UpgradeHandler>,
    signedIn: Principal | null,
    taken: (client: SignedInClient) => void,
  ): void;
  /** Hangs up on everyone (1001): clients reconnect and go on where they were. */
  close(): void;
}

/** The connection of a page that signed in. */
export interface SignedInClient {
  close(code: number, reason: string): void;
  once(event: 'close', listener: () => void): unknown;
}

/** What they are made of. */
export interface TrpcSocketsKit {
  readonly router: AppRouter;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly records: RequestRecords;
  readonly log: Log;
}

/** The router over WebSocket. */
export function createTrpcSockets({ router, gate, clock, records, log }: TrpcSocketsKit): TrpcSockets {
  const server = new WebSocketServer({ noServer: true, ...SOCKET_LIMITS });
  const shares = createShares(CONNECTIONS);
  const unauthenticated = createUnauthenticatedConnections(clock);
  const addresses = new Map<WebSocket, string>();
  const stopCounting = boundUnreadBytes(() => [...addresses].map(([socket, address]) => ({ socket, address })), clock);
  const admitted = new WeakMap<WebSocket, (caller: Caller) => void>();
  const sessions = new WeakMap<IncomingMessage, Session>();
  const connected = connectionHandler(server, { admitted, sessions }, { router, clock, records, log });
  const onUpgrade = (...[request, socket, head]: Parameters<UpgradeHandler>): WebSocket | null => {
    let taken: WebSocket | null = null;
    server.handleUpgrade(request, socket, head, (client) => {
      taken = client;
      client.on('error', () => client.terminate());
      admit(client, request);
      connected(client, request);
    });
    return taken;
  };

  return {
    onUpgrade,
    takeSignedIn(upgrade, signedIn, taken) {
      const session: Session = { principal: signedIn, isOver: false };
      sessions.set(upgrade[0], session);
      const client = onUpgrade(...upgrade);
      if (client === null) return;
      const end = (code: number, reason: string): void => {
        session.isOver = true; // what the page still sends is heard until it has said goodbye
        hangUp(client, clock, code, reason);
      };
      taken({ close: end, once: (event, listener) => client.once(event, listener) });
    },
    close() {
      stopCounting();
      for (const client of server.clients) client.close(1001, 'shutting down');
      server.close();
    },
  };

  /** It waits until it shows a key that is known here, and then has a place until it is gone. */
  function admit(client: WebSocket, request: IncomingMessage): void {
    const address = addressOf(request);
    addresses.set(client, address);
    let left = unauthenticated.enter(address, request.socket, (reason) => hangUp(client, clock, SIGN_IN_CLOSE, reason));
    client.once('close', () => {
      addresses.delete(client);
      left();
    });
    admitted.set(client, (caller) => {
      const principal = gate.identify(caller);
      if (principal === null) return;
      const place = shares.take(principal, address);
      if (place === null) throwRefusal(NO_PLACE, caller.requestId);
      left();
      left = place;
    });
  }
}

/** Whoever does not say goodbye in time is cut. */
function hangUp(client: WebSocket, clock: Clock, code: number, reason: string): void {
  client.close(code, reason);
  clock.after(CLOSE_GRACE_MS, () => client.terminate());
}

/** What becomes of a connection once it is one. `admitted` takes what it said when it was made. */
function connectionHandler(
  server: WebSocketServer,
  known: {
    readonly admitted: WeakMap<WebSocket, (caller: Caller) => void>;
    readonly sessions: WeakMap<IncomingMessage, Session>;
  },
  { router, clock, records, log }: Omit<TrpcSocketsKit, 'gate'>,
) {
  return getWSConnectionHandler<AppRouter>({
    wss: server,
    router,
    createContext: ({ req, res, info }) =>
      contextOf(
        req,
        res,
        {
          authorization: info.connectionParams?.['authorization'],
          traceparent: info.connectionParams?.['traceparent'] ?? req.headers.traceparent,
        },
        { clock, records, admitted: known.admitted.get(res), session: known.sessions.get(req) },
      ),
    maxBatchSize: MESSAGE_CALLS_MAX,
    keepAlive: { enabled: true, pingMs: PING_MS, pongWaitMs: PONG_MS_MAX },
    experimental_encoder: createEncoder(),
    onError: ({ error, type }) =>
      type === 'unknown' && isOfPeer(error.cause)
        ? log.debug({ error: error.message }, 'a client sent what is no WebSocket')
        : logBug(log, error, null),
  });
}

/** Close code for whoever shows no key. Source: RFC 6455, 7.4.1, policy violation. */
const SIGN_IN_CLOSE = 1008;

/** Time for the other side to say goodbye, in ms. */
export const CLOSE_GRACE_MS = 1_000;

const NO_PLACE: Refusal = {
  ...refuse(
    'service_unavailable',
    'There are too many live connections with this key or from this address. Close some, or try again later.',
  ).refusal,
  retryAfterSeconds: 1,
};

/** Whether it is what `ws` and sockets say of what the other side sent or did. Such is no fault of ours. */
function isOfPeer(cause: unknown): boolean {
  const code = (cause as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' && /^(?:WS_ERR_|E[A-Z]+$)/u.test(code);
}

/** The session of a page. */
interface Session {
  /** Null: the API asks for no key. */
  readonly principal: Principal | null;
  isOver: boolean;
}

/** What a connection said when it was made: it stands for each call. */
interface ConnectionHeaders {
  readonly authorization: string | undefined;
  readonly traceparent: unknown;
}

function contextOf(
  request: IncomingMessage,
  socket: WebSocket,
  { authorization, traceparent }: ConnectionHeaders,
  {
    clock,
    records,
    admitted,
    session,
  }: {
    readonly clock: Clock;
    readonly records: RequestRecords;
    readonly admitted: ((caller: Caller) => void) | undefined;
    /** Undefined: it is no page of the console, and shows a key. */
    readonly session: Session | undefined;
  },
): TrpcContext {
  const caller: Omit<Caller, 'requestId'> = {
    surface: 'trpc',
    credential: session === undefined ? bearerOf(authorization ?? request.headers.authorization) : null,
    address: addressOf(request),
    host: request.headers.host,
    idempotencyKey: null,
  };
  const isFull = (): boolean => socket.readyState === socket.OPEN && socket.bufferedAmount > BUFFERED_BYTES_MAX;
  const drained = async (): Promise<void> => {
    while (isFull())
      await new Promise<void>((resolve) => {
        clock.after(ROOM_POLL_MS, resolve);
      });
  };
  const signedIn = (): Pick<Caller, 'signedIn'> =>
    session === undefined || session.principal === null || session.isOver ? {} : { signedIn: session.principal };
  admitted?.({ ...caller, ...signedIn(), requestId: randomUUID() });
  let calls = 0;
  return {
    caller: () => ({ ...caller, ...signedIn(), requestId: randomUUID(), record: records.begin(traceparent) }),
    begin() {
      if (socket.bufferedAmount > UNREAD_BYTES_MAX) socket.terminate();
      if (calls >= CALLS_MAX) return false;
      calls += 1;
      return true;
    },
    done() {
      calls -= 1;
    },
    room: () => (isFull() ? drained() : null),
  };
}
