/**
 * The UDP sockets that code under test opens: what no socket of Node can send, such as a packet from port 0, is given
 * to them as the system would.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:dgram';
import type { ExecutionContext } from 'ava';

/** Channel on which Node tells of each. Source: Node's documentation, diagnostics_channel. */
const OPENED = 'udp.socket';

/** Finds one that this process opens from now on, by the port that it has. */
export function udpSockets(t: ExecutionContext): (port: number) => Socket {
  const sockets = new Set<Socket>();
  const opened = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  subscribe(OPENED, opened);
  t.teardown(() => {
    unsubscribe(OPENED, opened);
  });
  return (port) => {
    const found = [...sockets].find((socket) => portOf(socket) === port);
    if (found === undefined) throw new Error(`no UDP socket has port ${port}`);
    return found;
  };
}

/** Null: it has none yet. */
function portOf(socket: Socket): number | null {
  try {
    return socket.address().port;
  } catch {
    return null;
  }
}
