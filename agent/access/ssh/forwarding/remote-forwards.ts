/** Ports of this machine that lead to a client (-R): on loopback only, as sshd does it unless told otherwise. */
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Connection, TcpipBindInfo } from 'ssh2';
import { PORT_MAX } from '../../egress/port-ranges.ts';
import type { Account } from '../login/accounts.ts';
import { joinChannel, type Carried } from './forwards.ts';
import { channelsOf, giveUp, isOpen, isTold } from '../library.ts';
import type { SshLimits } from '../limits.ts';

/** Ports below are for root. Source: ip(7). */
const PRIVILEGED_PORTS = 1_024;

/**
 * Opens and closes ports as this client asks, and adds streams that come there to `carried`. All end with the
 * connection. The answer tells how many ports are open.
 */
export function openRemoteForwards(
  client: Connection,
  account: Account,
  limits: SshLimits,
  carried: Carried,
): () => number {
  const forwards = new RemoteForwards(client, account, limits, carried);
  async function answer(bind: TcpipBindInfo, accept?: (port: number) => void, reject?: () => void): Promise<void> {
    const port = await forwards.open(bind);
    if (!isOpen(client)) return;
    if (port === null) reject?.();
    else accept?.(port);
  }

  client.on(
    'request',
    (accept: ((port?: number) => void) | undefined, reject: (() => void) | undefined, name: string, info: unknown) => {
      if (name === 'tcpip-forward') {
        answer(info as TcpipBindInfo, accept, reject).catch((error: unknown) => giveUp(client, error));
      } else if (name === 'cancel-tcpip-forward' && forwards.close(info as TcpipBindInfo)) {
        accept?.();
      } else {
        reject?.(); // sockets of the file system: not offered
      }
    },
  );
  client.on('end', () => forwards.closeAll()).on('close', () => forwards.closeAll());
  return () => forwards.count;
}

/** The ports of one client. */
class RemoteForwards {
  readonly #client: Connection;
  readonly #account: Account;
  readonly #limits: SshLimits;
  readonly #carried: Carried;
  readonly #ports = new Map<string, readonly Server[]>();
  #opening = 0;

  constructor(client: Connection, account: Account, limits: SshLimits, carried: Carried) {
    this.#client = client;
    this.#account = account;
    this.#limits = limits;
    this.#carried = carried;
  }

  /** Ports that are open. */
  get count(): number {
    return this.#ports.size;
  }

  /** The port that it got; null: none. */
  async open({ bindAddr, bindPort }: TcpipBindInfo): Promise<number | null> {
    if (this.#ports.size + this.#opening >= this.#limits.remoteForwardsMax) return null;
    if (!isTold(bindAddr)) return null;
    if (bindPort > PORT_MAX) return null; // the protocol has 32 bits for it, and Node throws
    if (bindPort !== 0 && bindPort < PRIVILEGED_PORTS && this.#account.uid !== 0) return null;
    this.#opening += 1;
    try {
      const listeners = await listenOnLoopback(bindPort);
      const [first] = listeners;
      if (first === undefined) return null;
      if (!isOpen(this.#client)) {
        for (const listener of listeners) listener.close();
        return null;
      }
      const { port } = first.address() as AddressInfo;
      for (const listener of listeners)
        listener.on('connection', (socket) => this.#carry(socket, { bindAddr, bindPort: port }));
      this.#ports.set(keyOf({ bindAddr, bindPort: port }), listeners);
      return port;
    } finally {
      this.#opening -= 1;
    }
  }

  /** False: there is no such port. */
  close(bind: TcpipBindInfo): boolean {
    return this.#close(keyOf(bind));
  }

  closeAll(): void {
    for (const key of this.#ports.keys()) this.#close(key);
  }

  #close(key: string): boolean {
    for (const listener of this.#ports.get(key) ?? []) listener.close();
    return this.#ports.delete(key);
  }

  #carry(socket: Socket, { bindAddr, bindPort }: TcpipBindInfo): void {
    const client = this.#client;
    socket.on('error', () => {});
    if (!isOpen(client) || channelsOf(client) >= this.#limits.channelsMax) return void socket.destroy();
    const { remoteAddress = '', remotePort = 0 } = socket;
    client.forwardOut(bindAddr, bindPort, remoteAddress, remotePort, (error: Error | undefined, channel) => {
      if (error !== undefined) socket.destroy();
      else joinChannel(client, channel, socket, this.#carried);
    });
  }
}

function keyOf({ bindAddr, bindPort }: TcpipBindInfo): string {
  return `${bindAddr} ${bindPort}`;
}

/** Listeners on one port of both families; where there is no IPv6, or the port is taken there, IPv4 will do. */
async function listenOnLoopback(port: number): Promise<readonly Server[]> {
  const first = await listen('127.0.0.1', port);
  if (first === null) return [];
  const second = await listen('::1', (first.address() as AddressInfo).port);
  return second === null ? [first] : [first, second];
}

/** A listener, or null when there is none to be had. */
async function listen(host: string, port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const listener = createServer({ allowHalfOpen: true, noDelay: true });
    listener.on('error', () => resolve(null)); // also of one accept, later: the next may do
    listener.listen(port, host, () => resolve(listener));
  });
}
