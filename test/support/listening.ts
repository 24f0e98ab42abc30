/** A server of a test's own. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Scope } from './scope.ts';

/** Has it listen until the scope ends, with all of its connections; on a free port of loopback unless told otherwise. */
export async function listening(scope: Scope, server: Server, address = '127.0.0.1', port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)));
  });
  await once(server.listen(port, address), 'listening');
  scope.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
