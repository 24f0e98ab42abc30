/** A UDP socket that anybody may send to: what a flood of packets may cost has a bound, whatever is in them. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv4 } from 'node:net';
import type { Clock } from '../../../actors/ports.ts';
import { createWindowLimiter } from '../../net/window-limiter.ts';
import { PACKETS_PER_SECOND_MAX, SHUT_MS } from './limits.ts';

/** Any address of both families. */
export const ANY_ADDRESS = '::';

/** The same where a kernel has no IPv6. */
const ANY_IPV4_ADDRESS = '0.0.0.0';

/**
 * Room for packets that wait while the admin does something else, in bytes: the kernel gives less where its own limit
 * is lower.
 */
const RECEIVE_BUFFER_BYTES = 1_048_576;

const EVERYBODY = 'everybody';
const PACKET_LIMITS = { perWindowMax: PACKETS_PER_SECOND_MAX, windowMs: 1_000, keysMax: 1 };

/** Where a kernel has no IPv6. */
const NO_IPV6 = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL']);

/** What a socket is given. */
export interface SocketOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly clock: Pick<Clock, 'after'>;
  readonly monotonicMs: () => number;
  /** Each packet that came; must not throw. */
  readonly onPacket: (packet: Buffer, from: RemoteInfo) => void;
  /** It is closed for SHUT_MS, because more came than PACKETS_PER_SECOND_MAX. */
  readonly onShut: () => void;
}

/** An open one. */
export class ObserverSocket {
  readonly port: number;
  readonly #host: string;
  readonly #options: SocketOptions;
  #socket: Socket | null;
  #isClosed = false;
  #cancel: () => void = () => undefined;

  private constructor(socket: Socket, host: string, options: SocketOptions) {
    this.#socket = socket;
    this.#host = host;
    this.#options = options;
    this.port = socket.address().port;
    this.#listen(socket);
  }

  /** Rejects when the port or the address cannot be had. */
  static async open(options: SocketOptions): Promise<ObserverSocket> {
    const { host, port } = options;
    try {
      return new ObserverSocket(await bound(host, port), host, options);
    } catch (error) {
      if (host !== ANY_ADDRESS || !NO_IPV6.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
      return new ObserverSocket(await bound(ANY_IPV4_ADDRESS, port), ANY_IPV4_ADDRESS, options);
    }
  }

  /** Sends, or drops it. */
  send(packet: Buffer, to: RemoteInfo): void {
    this.#socket?.send(packet, to.port, to.address, () => {}); // a packet that cannot be sent is one that was lost
  }

  /** Not closed by a flood or a failure. */
  isOpen(): boolean {
    return this.#socket !== null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    const opened = this.#socket;
    this.#socket = null;
    if (opened !== null)
      await new Promise<void>((resolve) => {
        opened.close(resolve);
      });
  }

  #listen(opened: Socket): void {
    const { monotonicMs, onShut, onPacket } = this.#options;
    const packets = createWindowLimiter(PACKET_LIMITS, { nowMs: monotonicMs });
    // An error is the end of a socket, as a flood is: it is opened again after the same while.
    opened.on('error', () => this.#shut(opened));
    opened.on('message', (packet, from) => {
      if (packets.add(EVERYBODY) > 0) {
        onShut();
        this.#shut(opened);
      } else if (from.port !== 0) {
        // who says that it sends from port 0 can neither be answered, which Node refuses by throwing, nor be told of
        onPacket(packet, from);
      }
    });
  }

  #shut(opened: Socket): void {
    if (this.#socket !== opened) return;
    this.#socket = null;
    opened.removeAllListeners('message');
    opened.close();
    this.#reopenLater();
  }

  #reopenLater(): void {
    this.#cancel = this.#options.clock.after(SHUT_MS, () => void this.#reopen());
  }

  async #reopen(): Promise<void> {
    const opened = await bound(this.#host, this.port).catch(() => null);
    if (this.#isClosed) {
      opened?.close();
    } else if (opened === null) {
      this.#reopenLater(); // somebody else has the port: until it is given back
    } else {
      this.#socket = opened;
      this.#listen(opened);
    }
  }
}

async function bound(host: string, port: number): Promise<Socket> {
  const socket = createSocket({ type: isIPv4(host) ? 'udp4' : 'udp6', ipv6Only: false });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind({ port, address: host, exclusive: true }, resolve);
    });
  } catch (error) {
    socket.close();
    throw error;
  }
  socket.removeAllListeners('error');
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
  } catch {
    // The kernel's own size will do.
  }
  return socket;
}
