/** A UDP socket that anybody may send to: what a flood of packets may cost has a bound, whatever is in them. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv4 } from 'node:net';
import type { Clock } from '../../../actors/ports.ts';
import { createWindowLimiter } from '../../net/window-limiter.ts';
import { PACKETS_PER_SECOND_MAX, SHUT_MS } from './limits.ts';

/** Any address of both families. */
export const ANY_ADDRESS = '::';

/**
 * Room for packets that wait while the admin does something else, in bytes: the kernel gives less where its own limit
 * is lower.
 */
const RECEIVE_BUFFER_BYTES = 1_048_576;

const EVERYBODY = 'everybody';
const PACKET_LIMITS = { perWindowMax: PACKETS_PER_SECOND_MAX, windowMs: 1_000, keysMax: 1 };

/** Where a kernel has no IPv6. */
const NO_IPV6 = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL']);

/** An open one. */
export interface ObserverSocket {
  readonly port: number;
  /** Sends, or drops it. */
  send(packet: Buffer, to: RemoteInfo): void;
  /** Not closed by a flood or a failure. */
  isOpen(): boolean;
  close(): Promise<void>;
}

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

/** Opens one. Rejects when the port or the address cannot be had. */
export async function openObserverSocket({
  host,
  port: wantedPort,
  clock,
  monotonicMs,
  onPacket,
  onShut,
}: SocketOptions): Promise<ObserverSocket> {
  let boundHost = host;
  let socket: Socket | null = await bound(host, wantedPort).catch((error: unknown) => {
    if (host !== ANY_ADDRESS || !NO_IPV6.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    boundHost = '0.0.0.0';
    return bound(boundHost, wantedPort);
  });
  const { port } = socket.address();
  let isClosed = false;
  let cancel: () => void = () => {};
  listen(socket);

  function listen(opened: Socket): void {
    const packets = createWindowLimiter(PACKET_LIMITS, { nowMs: monotonicMs });
    // An error is the end of a socket, as a flood is: it is opened again after the same while.
    opened.on('error', () => shut(opened));
    opened.on('message', (packet, from) => {
      if (packets.add(EVERYBODY) > 0) {
        onShut();
        shut(opened);
      } else if (from.port !== 0) {
        // who says that it sends from port 0 can neither be answered, which Node refuses by throwing, nor be told of
        onPacket(packet, from);
      }
    });
  }

  function shut(opened: Socket): void {
    if (socket !== opened) return;
    socket = null;
    opened.removeAllListeners('message');
    opened.close();
    cancel = clock.after(SHUT_MS, () => void reopen());
  }

  async function reopen(): Promise<void> {
    const opened = await bound(boundHost, port).catch(() => null);
    if (isClosed) {
      opened?.close();
    } else if (opened === null) {
      cancel = clock.after(SHUT_MS, () => void reopen()); // somebody else has the port: until it is given back
    } else {
      socket = opened;
      listen(opened);
    }
  }

  return {
    port,
    send(packet, to) {
      socket?.send(packet, to.port, to.address, () => {}); // a packet that cannot be sent is one that was lost
    },
    isOpen: () => socket !== null,
    async close() {
      isClosed = true;
      cancel();
      const opened = socket;
      socket = null;
      if (opened !== null)
        await new Promise<void>((resolve) => {
          opened.close(resolve);
        });
    },
  };
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
