/** Who takes over which upgrade request: agent sessions and live feeds share the port with the API. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { refuse, retryAfterSecondsOf, type Refusal } from '../../actors/refusal.ts';
import type { Log } from '../../transport/net/log.ts';
import { hasReadableHost, NO_HOST, type WebPages } from '../origins.ts';
import { TUNNEL_UPGRADE } from '../../transport/protocol/version.ts';
import { errorBody } from './answers.ts';

/** Takes the socket over, with what was already read of it. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Takes an upgrade. False: it is nobody's who may come in, and is refused as one of a path that there is not. */
export type TakeUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;

export interface Upgrades {
  /** Hands upgrade requests of this exact path to a handler. */
  onUpgrade(path: string, handler: UpgradeHandler): void;
  /** Offers upgrade requests of this exact path to whoever may not be seen by everybody. */
  onInternalUpgrade(path: string, take: TakeUpgrade): void;
  /**
   * Resolves when every socket that was taken over is closed: by those who took it within `graceMs`, or destroyed then.
   */
  closeAll(graceMs: number): Promise<void>;
}

const NO_ROUTE = refuse('not_found', 'No such route.').refusal;

/** The protocols that are spoken here. */
const SPOKEN: ReadonlySet<string | undefined> = new Set(['websocket', TUNNEL_UPGRADE]);

/**
 * Whether a request is an upgrade. Clients offer others that they could do without, HTTP/2 above all, and get the
 * answer to their request as if they had not. Source: RFC 9110, 7.8.
 */
export function isUpgrade({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return SPOKEN.has(headers.upgrade?.toLowerCase());
}

/**
 * Routes the upgrade requests of a server. A Host that is none gets a 400, an unknown path a 404 and a page of another
 * origin a 403, and their sockets are destroyed. What fails otherwise ends its connection alone.
 */
export function routeUpgrades(server: Server, pages: Pick<WebPages, 'foreignOrigin'>, log: Log): Upgrades {
  const handlers = new Map<string, UpgradeHandler>();
  const takers = new Map<string, TakeUpgrade>();
  const sockets = new Set<Duplex>();

  const route: UpgradeHandler = (request, socket, head) => {
    const handler = handlers.get((request.url ?? '').split('?', 1)[0] ?? '');
    const foreign = pages.foreignOrigin(request);
    if (!hasReadableHost(request)) return refuseUpgrade(socket, '400 Bad Request', NO_HOST);
    if (foreign === null && takers.get(request.url ?? '')?.(request, socket, head) === true) return;
    if (handler === undefined) refuseUpgrade(socket, '404 Not Found', NO_ROUTE);
    else if (foreign !== null) refuseUpgrade(socket, '403 Forbidden', foreign);
    else handler(request, socket, head);
  };
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy()); // a reset while nobody listens would end the process
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    try {
      route(request, socket, head);
    } catch (error) {
      log.error({ error }, 'an upgrade failed'); // of this connection, and of nothing else
      socket.destroy();
    }
  });

  return {
    onUpgrade(path, handler) {
      handlers.set(path, handler);
    },
    onInternalUpgrade(path, take) {
      takers.set(path, take);
    },
    async closeAll(graceMs) {
      if (sockets.size === 0) return;
      const destroy = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      await Promise.all(
        [...sockets].map(
          (socket) =>
            new Promise((resolve) => {
              socket.once('close', resolve);
            }),
        ),
      );
      clearTimeout(destroy);
    },
  };
}

/** Answers an upgrade request as one that is none, and hangs up. `status`: with its words. */
export function refuseUpgrade(socket: Duplex, status: string, refusal: Refusal): void {
  const requestId = randomUUID();
  const body = JSON.stringify(errorBody(refusal, requestId));
  const retryAfterSeconds = retryAfterSecondsOf(refusal);
  const more = [
    ...(refusal.code === 'unauthorized' ? ['www-authenticate: Bearer\r\n'] : []),
    ...(retryAfterSeconds === undefined ? [] : [`retry-after: ${retryAfterSeconds}\r\n`]),
  ].join('');
  socket.once('finish', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status}\r\n${more}connection: close\r\ncontent-type: application/json; charset=utf-8\r\nx-request-id: ${requestId}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
