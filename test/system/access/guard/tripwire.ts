/** Watches for connections: each that this process tries, and each that arrives on a port of all its addresses. */
import { createHook } from 'node:async_hooks';
import { createServer } from 'node:net';
import { listening } from '../../../support/net/listening.ts';
import type { Scope } from '../../../support/scope.ts';

/** What was seen so far. */
export interface Tripwire {
  /** The port on which it listens, on all addresses of this machine. */
  readonly port: number;
  /** Addresses that were dialled, by whatever part of this process, one entry a try. */
  dialled(): string[];
  /** Connections that arrived, by the address that they came to. */
  readonly arrived: readonly string[];
}

/** The handle of libuv that stands for one try to connect. `net` writes on it where to, after the hook has seen it. */
interface ConnectTry {
  readonly address?: string;
}

/** Starts to watch, and answers each request that arrives with an empty 200. */
export async function startTripwire(scope: Scope): Promise<Tripwire> {
  const tries: ConnectTry[] = [];
  const hook = createHook({
    init(_id, type, _trigger, resource: ConnectTry) {
      if (type === 'TCPCONNECTWRAP' || type === 'PIPECONNECTWRAP') tries.push(resource);
    },
  }).enable();
  const arrived: string[] = [];
  const server = createServer((socket) => {
    arrived.push((socket.localAddress ?? '').replace(/^::ffff:/u, ''));
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'));
  });
  scope.teardown(() => void hook.disable());
  return {
    port: await listening(scope, server, '::'),
    dialled: () => tries.map((entry) => entry.address ?? 'a pipe'),
    arrived,
  };
}
