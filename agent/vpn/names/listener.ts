/** One address of the resolver, over UDP and TCP, tried again until it can be listened on. */
import { createSocket } from 'node:dgram';
import type { Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6 } from 'node:net';
import type { Server, Socket } from 'node:net';
import {
  CONNECTION_IDLE_MS_MAX,
  CONNECTION_LIFE_MS_MAX,
  CONNECTIONS_MAX,
  LISTEN_RETRY_MS_MAX,
  LISTEN_RETRY_MS_MIN,
  QUERY_BYTES_MAX,
  UNREAD_BYTES_MAX,
} from './limits.ts';
import type { DnsTransport } from './reply.ts';

/**
 * What stands in the way, as the system calls it: EADDRNOTAVAIL while the interface is not up, EADDRINUSE when another
 * program has the port.
 */
export type ListenerState =
  | { readonly isListening: true; readonly port: number }
  | { readonly isListening: false; readonly code: string };

/** What it is made of. */
export interface ListenerOptions {
  readonly address: string;
  /** 0: a free one, for tests. */
  readonly port: number;
  /** The answer to a query of this address; null: none. Must not throw. */
  readonly answer: (query: Buffer, transport: DnsTransport, source: string) => Buffer | null;
  /** Whether its state is another one than before. */
  readonly changed: () => void;
}

/** Both sockets of an address that is listened on. */
interface Sockets {
  readonly udp: UdpSocket;
  readonly tcp: Server;
  readonly connections: Set<Socket>;
}

/**
 * An address that is listened on, or will be. Starts at once; what fails is tried again after 0.1 s, 0.2 s, … 5 s,
 * until `close`.
 */
export class Listener {
  readonly address: string;
  readonly #options: ListenerOptions;
  #state: ListenerState | null = null;
  #sockets: Sockets | null = null;
  #waitMs = LISTEN_RETRY_MS_MIN;
  #timer: NodeJS.Timeout | undefined;
  #attempt: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: ListenerOptions) {
    this.address = options.address;
    this.#options = options;
    this.#start();
  }

  /** Null: it has not been tried yet. */
  get state(): ListenerState | null {
    return this.#state;
  }

  /** Tries now, if it is not listening. */
  retry(): void {
    this.#waitMs = LISTEN_RETRY_MS_MIN;
    this.#start();
  }

  /** Ends both sockets and what is connected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#attempt;
    const open = this.#sockets;
    this.#sockets = null;
    if (open !== null) await shut(open);
  }

  #start(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed || this.#sockets !== null || this.#attempt !== null) return;
    this.#attempt = this.#listen().finally(() => {
      this.#attempt = null;
    });
  }

  async #listen(): Promise<void> {
    try {
      const opened = await openSockets(this.#options, (code) => {
        this.#lost(code);
      });
      if (this.#isClosed) {
        await shut(opened);
        return;
      }
      this.#sockets = opened;
      this.#waitMs = LISTEN_RETRY_MS_MIN;
      this.#tell({ isListening: true, port: opened.udp.address().port });
    } catch (error) {
      this.#tell({ isListening: false, code: (error as NodeJS.ErrnoException).code ?? 'unknown error' });
      this.#tryAgainLater();
    }
  }

  #lost(code: string): void {
    if (this.#sockets === null) return;
    const broken = this.#sockets;
    this.#sockets = null;
    void shut(broken);
    this.#tell({ isListening: false, code });
    this.#tryAgainLater();
  }

  #tryAgainLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#start();
    }, this.#waitMs).unref();
    this.#waitMs = Math.min(this.#waitMs * 2, LISTEN_RETRY_MS_MAX);
  }

  #tell(next: ListenerState): void {
    const before = this.#state;
    const isSame =
      before !== null &&
      before.isListening === next.isListening &&
      (before.isListening ? '' : before.code) === (next.isListening ? '' : next.code);
    this.#state = next;
    if (!isSame && !this.#isClosed) this.#options.changed();
  }
}

/** Both or none. Rejects with the system's error. `lost`: they broke later. */
async function openSockets(options: ListenerOptions, lost: (code: string) => void): Promise<Sockets> {
  const { address, port } = options;
  const connections = new Set<Socket>();
  const udp = createSocket(isIPv6(address) ? { type: 'udp6', ipv6Only: true } : { type: 'udp4' });
  const tcp = createServer((socket) => {
    serve(socket, connections, options);
  });
  tcp.maxConnections = CONNECTIONS_MAX;
  try {
    udp.bind({ address, port, exclusive: true });
    await once(udp, 'listening');
    tcp.listen({ host: address, port: port === 0 ? udp.address().port : port, ipv6Only: true, exclusive: true });
    await once(tcp, 'listening');
  } catch (error) {
    await shut({ udp, tcp, connections });
    throw error;
  }
  udp.on('error', (error: NodeJS.ErrnoException) => {
    lost(error.code ?? 'unknown error');
  });
  tcp.on('error', (error: NodeJS.ErrnoException) => {
    lost(error.code ?? 'unknown error');
  });
  udp.on('message', (query, source) => {
    // port 0 cannot be answered: Node throws, and the agent would end with it
    if (query.length > QUERY_BYTES_MAX || source.port === 0) return;
    const answer = options.answer(query, 'udp', source.address);
    if (answer !== null) udp.send(answer, source.port, source.address, () => {}); // whoever is gone, is gone
  });
  return { udp, tcp, connections };
}

/** Queries of one connection, each after its length in two bytes, as they come (RFC 1035, 4.2.2; RFC 7766). */
function serve(socket: Socket, connections: Set<Socket>, { answer }: ListenerOptions): void {
  const source = socket.remoteAddress;
  connections.add(socket);
  const life = setTimeout(() => socket.destroy(), CONNECTION_LIFE_MS_MAX).unref();
  socket.setTimeout(CONNECTION_IDLE_MS_MAX, () => socket.destroy());
  socket
    .on('error', () => {})
    .once('close', () => {
      clearTimeout(life);
      connections.delete(socket);
    });
  let waiting = Buffer.alloc(0);
  socket.on('data', (piece) => {
    waiting = Buffer.concat([waiting, piece]);
    while (waiting.length >= 2) {
      const length = waiting.readUInt16BE(0);
      const isOver = length > QUERY_BYTES_MAX || socket.writableLength > UNREAD_BYTES_MAX;
      if (!isOver && waiting.length < 2 + length) return;
      const reply = isOver || source === undefined ? null : answer(waiting.subarray(2, 2 + length), 'tcp', source);
      if (reply === null) {
        socket.destroy();
        return;
      }
      waiting = waiting.subarray(2 + length);
      socket.write(lengthOf(reply));
      socket.write(reply);
    }
  });
}

function lengthOf(reply: Buffer): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(reply.length);
  return bytes;
}

async function shut({ udp, tcp, connections }: Sockets): Promise<void> {
  for (const socket of connections) socket.destroy();
  await Promise.all([
    new Promise<void>((resolve) => {
      udp.close(() => resolve());
    }),
    new Promise<void>((resolve) => {
      tcp.close(() => resolve());
    }),
  ]);
}
