/** A broker of a few lines, which says to each client what a test has it say. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';

/**
 * Serves each client so, on a port of the loopback that is returned, until the test ends. What a socket fails with is
 * nobody's.
 */
export async function rawBroker(t: ExecutionContext, serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => {});
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
