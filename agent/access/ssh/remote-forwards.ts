/** Ports of this machine that lead to a client (-R): on loopback only, as sshd does it unless told otherwise. */
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Connection, TcpipBindInfo } from 'ssh2';
import type { Account } from './accounts.ts';
import { joinChannel } from './forwards.ts';
import { channelsOf, isOpen } from './library.ts';
import type { SshLimits } from './limits.ts';

/** Ports below are for root. Source: ip(7). */
const PRIVILEGED_PORTS = 1_024;

/** Opens and closes ports as this client wishes. All end with the connection. */
export function openRemoteForwards(client: Connection, account: Account, limits: SshLimits): void {
  const ports = new Map<string, Server[]>();
  let opening = 0;

  async function open({ bindAddr, bindPort }: TcpipBindInfo): Promise<number | null> {
    if (ports.size + opening >= limits.remoteForwardsMax) return null;
    opening += 1;
    try {
      if (bindPort !== 0 && bindPort < PRIVILEGED_PORTS && account.uid !== 0) return null;
      const first = await listen('127.0.0.1', bindPort);
      if (first === null) return null;
      const { port } = first.address() as AddressInfo;
      const second = await listen('::1', port); // where there is no IPv6, or the port is taken there, IPv4 will do
      const listeners = second === null ? [first] : [first, second];
      if (!isOpen(client)) {
        for (const listener of listeners) listener.close();
        return null;
      }
      for (const listener of listeners) listener.on('connection', (socket) => carry(socket, bindAddr, port));
      ports.set(`${bindAddr} ${port}`, listeners);
      return port;
    } finally {
      opening -= 1;
    }
  }

  async function answer(
    wish: TcpipBindInfo,
    accept: ((port?: number) => void) | undefined,
    reject: (() => void) | undefined,
  ): Promise<void> {
    const port = await open(wish);
    if (!isOpen(client)) return;
    if (port === null) reject?.();
    else accept?.(port);
  }

  function carry(socket: Socket, bindAddr: string, port: number): void {
    socket.on('error', () => {});
    if (!isOpen(client) || channelsOf(client) >= limits.channelsMax) return void socket.destroy();
    client.forwardOut(
      bindAddr,
      port,
      socket.remoteAddress ?? '',
      socket.remotePort ?? 0,
      (error: Error | undefined, channel) => {
        if (error !== undefined) socket.destroy();
        else joinChannel(client, channel, socket);
      },
    );
  }

  function close(key: string): boolean {
    for (const listener of ports.get(key) ?? []) listener.close();
    return ports.delete(key);
  }

  client.on(
    'request',
    (accept: ((port?: number) => void) | undefined, reject: (() => void) | undefined, name: string, info: unknown) => {
      if (name === 'tcpip-forward') {
        void answer(info as TcpipBindInfo, accept, reject);
      } else if (name === 'cancel-tcpip-forward') {
        const { bindAddr, bindPort } = info as TcpipBindInfo;
        if (close(`${bindAddr} ${bindPort}`)) accept?.();
        else reject?.();
      } else {
        reject?.(); // sockets of the file system: not offered
      }
    },
  );
  const over = () => {
    for (const key of ports.keys()) close(key);
  };
  client.on('end', over).on('close', over);
}

/** A listener, or null when there is none to be had. */
async function listen(host: string, port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const listener = createServer({ allowHalfOpen: true, noDelay: true });
    listener.on('error', () => resolve(null)); // also of one accept, later: the next may do
    listener.listen(port, host, () => resolve(listener));
  });
}
