/**
 * Where the API listens. `localhost` is 127.0.0.1 and ::1 (RFC 6761, 6.3), and one server serves both: Fastify opens a
 * second server of its own for the other one, to which none of what was put on the first holds.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Log } from '../../transport/net/log.ts';
import { listenAt } from '../../transport/net/streams/listen.ts';

/**
 * Connections that wait to be accepted: a fleet that comes back at once overflows Node's 511, and every connection
 * dropped there waits a second or three for its retransmission. Linux takes at most net.core.somaxconn, 4,096 as it
 * comes.
 */
const PENDING_CONNECTIONS_MAX = 4_096;

const LOCALHOST = { ipv4: '127.0.0.1', ipv6: '::1' } as const;

/** What a machine without IPv6 says of ::1. */
const NO_SUCH_ADDRESS: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/** What of a server says how it takes connections, which no documentation names. Source: Node's `lib/net.js`. */
interface Taking {
  readonly allowHalfOpen?: boolean;
  readonly noDelay?: boolean;
}

/** The addresses of one API server. */
export class Listening {
  readonly #app: FastifyInstance;
  readonly #log: Log;
  #beside: Server | null = null;

  /** Of a server that does not listen yet. */
  constructor(app: FastifyInstance, log: Log) {
    this.#app = app;
    this.#log = log;
    this.#goOn(app.server);
  }

  /**
   * Binds, and answers the address and the port as they stand in a URL. Port 0 takes a free one. Rejects when the port
   * is taken. For `localhost` they are those of 127.0.0.1, and ::1 is served beside it, where that can be had.
   */
  async open(host: string, port: number): Promise<string> {
    const isLocalhost = host === 'localhost';
    await this.#app.listen({
      host: isLocalhost ? LOCALHOST.ipv4 : host,
      port,
      backlog: PENDING_CONNECTIONS_MAX,
    });
    const { address, port: bound, family } = this.#app.server.address() as AddressInfo;
    if (isLocalhost) await this.#openBeside(bound);
    return `${family === 'IPv6' ? `[${address}]` : address}:${bound}`;
  }

  /** Takes no more connections, and resolves when those that came in beside are closed. */
  async close(): Promise<void> {
    const beside = this.#beside;
    this.#beside = null;
    if (beside !== null) await once(beside.close(), 'close');
  }

  /** Whoever comes there is handed to the one server, as if he had come to its own address. */
  async #openBeside(port: number): Promise<void> {
    const { server } = this.#app;
    const { allowHalfOpen = false, noDelay = false } = server as Taking;
    const beside = createServer({ allowHalfOpen, noDelay }, (socket) => void server.emit('connection', socket));
    const host = LOCALHOST.ipv6;
    const listened = await listenAt(beside, { host, port, backlogMax: PENDING_CONNECTIONS_MAX });
    if (listened.ok) {
      this.#goOn(beside);
      this.#beside = beside;
    } else if (!NO_SUCH_ADDRESS.has(listened.code))
      this.#log.warn({}, `localhost is served at ${LOCALHOST.ipv4} and not at ${host}: ${listened.reason}`);
  }

  #goOn(server: Server): void {
    server.on('error', (error) => this.#log.debug({ error }, 'a connection could not be accepted')); // the next one may be
  }
}
