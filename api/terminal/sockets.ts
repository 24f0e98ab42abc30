/** Terminals by WebSocket: with a key at `/api/v1/terminal`, and from pages of the console by their session. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { WebSocketServer, type WebSocket } from 'ws';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import { Places } from '../../transport/net/places.ts';
import { HTTP_STATUS, sendRefusal } from '../rest/answers.ts';
import { addressOf, bearerOf } from '../rest/requests.ts';
import type { Mount, MountKit } from '../rest/server.ts';
import { refuseUpgrade, type UpgradeHandler } from '../rest/upgrades.ts';
import type { Caller } from '../principals.ts';
import { createShares } from '../shares.ts';
import type { Principal } from '../surface.ts';
import { boundUnreadBytes } from '../trpc/unread-bytes.ts';
import { TerminalCounters, type TerminalReadings } from './counters.ts';
import { BYTES_MAX, PING_MS, TERMINALS, TERMINALS_PER_NODE_MAX } from './limits.ts';
import { TERMINAL_PROTOCOL } from './messages.ts';
import { TERMINAL_PATH } from './path.ts';
import { TerminalSession, type TerminalKit } from './session.ts';

/** What terminals are made with; the rest comes with the server. */
export type TerminalParts = Pick<TerminalKit, 'terminals' | 'clock' | 'isRecorded'>;

/** Takes connections whose session is looked after by somebody else. */
export interface SignedInTerminals {
  takeSignedIn(
    upgrade: Parameters<UpgradeHandler>,
    signedIn: Principal | null,
    taken: (client: Pick<WebSocket, 'close'> & { once(event: 'close', listener: () => void): unknown }) => void,
  ): void;
}

/** Terminals, once they are mounted. */
export interface TerminalSockets extends SignedInTerminals {
  readonly mount: Mount;
  readings(): TerminalReadings;
  /** Ends all, tells them why, and lets none in any more: once what they left on machines is taken back. */
  end(): Promise<void>;
}

/** A client's terminal, and where it is. */
interface Connected {
  readonly session: TerminalSession;
  readonly address: string;
}

/** None at first. */
export function createTerminals(parts: TerminalParts): TerminalSockets {
  const counters = new TerminalCounters();
  const shares = createShares(TERMINALS);
  const clients = new Map<WebSocket, Connected>();
  const placeOf = nodePlaces();
  const server = webSocketServer();
  let mounted: MountKit | null = null;
  let stopWatching = (): void => {};

  async function end(): Promise<void> {
    mounted = null;
    stopWatching();
    await sayStopping(clients);
    server.close();
  }

  function connect(upgrade: Parameters<UpgradeHandler>, caller: Caller, taken?: (client: WebSocket) => void): void {
    const [request, socket, head] = upgrade;
    const kit = mounted;
    if (kit === null) return refuseUpgrade(socket, '503 Service Unavailable', STOPPING);
    const admitted = kit.gate.admit('api', caller);
    if (!admitted.ok) return refuseUpgrade(socket, statusOf(admitted.refusal), admitted.refusal);
    if (!namesProtocol(request)) return refuseUpgrade(socket, '400 Bad Request', NO_PROTOCOL);
    const left = shares.take(admitted.value, caller.address);
    if (left === null) return refuseUpgrade(socket, '503 Service Unavailable', NO_PLACE);
    socket.once('close', left); // also of one that is no WebSocket
    server.handleUpgrade(request, socket, head, (client) => {
      client.on('error', () => client.terminate());
      const session = new TerminalSession(
        { ...parts, counters, placeOf, call: kit.call, log: kit.log },
        { socket: client, caller: () => ({ ...caller, requestId: randomUUID() }) },
      );
      clients.set(client, { session, address: caller.address });
      client.once('close', () => clients.delete(client));
      taken?.(client);
    });
  }

  return {
    mount(kit) {
      mounted = kit;
      kit.onUpgrade(TERMINAL_PATH, (...upgrade) => connect(upgrade, callerOf(upgrade[0])));
      kit.app.get(TERMINAL_PATH, (request, reply) => sendRefusal(reply, noUpgrade(kit, request.raw)));
      stopWatching = watch(clients, parts.clock);
      kit.app.addHook('preClose', end);
    },
    takeSignedIn(upgrade, signedIn, taken) {
      const caller = { ...callerOf(upgrade[0]), credential: null, ...(signedIn !== null && { signedIn }) };
      connect(upgrade, caller, (client) =>
        taken({
          close: () =>
            clients.get(client)?.session.over('session_over', 'Your session of the console is over: sign in again.'),
          once: (event, listener) => client.once(event, listener),
        }),
      );
    },
    readings: () => counters.readings(clients.size),
    end,
  };
}

function webSocketServer(): WebSocketServer {
  return new WebSocketServer({
    noServer: true,
    maxPayload: BYTES_MAX,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(TERMINAL_PROTOCOL) ? TERMINAL_PROTOCOL : false),
  });
}

/** Places among the terminals of each node. */
export function nodePlaces(placesMax = TERMINALS_PER_NODE_MAX): TerminalKit['placeOf'] {
  const places = new Places({ ofOneMax: placesMax });
  return (node) => places.take(node);
}

/** What somebody is told who asks without an upgrade. */
function noUpgrade({ gate }: MountKit, request: IncomingMessage): Refusal {
  const admitted = gate.admit('api', callerOf(request));
  return admitted.ok ? NO_UPGRADE : admitted.refusal;
}

/** Resolves once all of them let go of their machines. */
async function sayStopping(clients: ReadonlyMap<WebSocket, Connected>): Promise<void> {
  const sessions = [...clients.values()].map(({ session }) => session);
  for (const session of sessions) session.over('stopping', STOPPING.message);
  await Promise.all(sessions.map((session) => session.hungUp));
}

/** Cuts who is gone, and who does not read. Returns what stops it. */
function watch(clients: ReadonlyMap<WebSocket, Connected>, clock: TerminalParts['clock']): () => void {
  const stopPinging = pingAll(clients, clock);
  const stopCounting = boundUnreadBytes(
    () => [...clients].map(([socket, { address }]) => ({ socket, address })),
    clock,
  );
  return () => {
    stopPinging();
    stopCounting();
  };
}

/** One who does not answer until the next question is cut: nobody else would find out. */
function pingAll(clients: ReadonlyMap<WebSocket, unknown>, clock: TerminalParts['clock']): () => void {
  const asked = new WeakSet<WebSocket>();
  let cancel = clock.after(PING_MS, ping);
  function ping(): void {
    for (const client of clients.keys()) {
      if (asked.has(client)) client.terminate();
      else {
        asked.add(client);
        client.once('pong', () => asked.delete(client)).ping();
      }
    }
    cancel = clock.after(PING_MS, ping);
  }
  return () => cancel();
}

function callerOf(request: IncomingMessage): Caller {
  return {
    surface: 'trpc',
    credential: bearerOf(request.headers.authorization),
    address: addressOf(request),
    host: request.headers.host,
    requestId: randomUUID(),
    idempotencyKey: null,
  };
}

function namesProtocol({ headers }: IncomingMessage): boolean {
  return (headers['sec-websocket-protocol'] ?? '').split(',').some((name) => name.trim() === TERMINAL_PROTOCOL);
}

function statusOf({ code }: Refusal): string {
  return `${HTTP_STATUS[code]} ${code}`;
}

const NO_UPGRADE = refuse(
  'bad_request',
  `This is a WebSocket: connect with an upgrade and the subprotocol ${TERMINAL_PROTOCOL}.`,
).refusal;
const NO_PROTOCOL = refuse('bad_request', `Name the subprotocol ${TERMINAL_PROTOCOL}.`).refusal;
const STOPPING: Refusal = {
  code: 'service_unavailable',
  message: 'This admin is shutting down.',
  retryAfterSeconds: 1,
};

const NO_PLACE: Refusal = {
  ...refuse('service_unavailable', 'There are too many terminals with this key, or from this address. Close some.')
    .refusal,
  retryAfterSeconds: 1,
};
