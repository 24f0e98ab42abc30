/** Handlers of what comes from outside, whose throws end one connection and not the program. */

import type { Duplex } from 'node:stream';

/**
 * The same handler, whose throw goes to `failed` with what it was called with. For listeners of sockets, servers and
 * parsers: Node turns a throw there into an uncaught exception, which ends the program with everybody's connections.
 * Whoever uses it cuts that one connection and says so in the log: it is a fault all the same. `failed` must not throw.
 */
export function contained<Args extends readonly unknown[]>(
  handle: (...args: Args) => void,
  failed: (error: unknown, ...args: Args) => void,
): (...args: Args) => void {
  return (...args) => {
    try {
      handle(...args);
    } catch (error) {
      failed(error, ...args);
    }
  };
}

/**
 * Contains all listeners of a socket that a library reads, those that it adds later included: one that throws destroys
 * the socket with what it threw, of which the library hears as of any error.
 */
export function containListeners(socket: Duplex): void {
  const emit = socket.emit.bind(socket) as (...args: readonly unknown[]) => boolean;
  socket.emit = (...args: readonly unknown[]) => {
    try {
      return emit(...args);
    } catch (error) {
      socket.destroy(error as Error);
      return true;
    }
  };
}
