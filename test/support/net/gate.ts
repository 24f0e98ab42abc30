/**
 * Stands before a server of any protocol, on a port of its own: shut, nobody gets through, and who was through is cut
 * off.
 */
import { connect, createServer, type Socket } from 'node:net';
import type { Scope } from '../scope.ts';
import { listening } from './listening.ts';

/** An open gate, until it is shut. */
export interface Gate {
  readonly port: number;
  /** Connections from now on are closed at once; those of now are cut. */
  shut(): void;
  open(): void;
}

/** Opens a gate to a port of this machine; it ends with the scope. */
export async function openGate(scope: Scope, port: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  let isOpen = true;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((near) => {
    keep(near);
    if (!isOpen) {
      near.destroy();
      return;
    }
    const far = connect({ host: '127.0.0.1', port });
    keep(far);
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  return {
    port: await listening(scope, server),
    shut() {
      isOpen = false;
      cut();
    },
    open() {
      isOpen = true;
    },
  };
}
