/** Bytes that wait in the sockets of clients that read slowly, bounded for all of them together. */
import type { WebSocket } from 'ws';
import type { Clock } from '../../actors/ports.ts';
import { sourceNetwork } from '../../transport/net/source-networks.ts';

/** Bytes waiting in a socket above which its subscriptions wait. Source: docs/architecture/sessions.md. */
export const BUFFERED_BYTES_MAX = 1_048_576;

/** Bytes waiting in a socket above which it is cut: a client that asks and does not read. */
export const UNREAD_BYTES_MAX = 33_554_432;

/** Bytes waiting in all sockets together. Above it, whoever holds most of them is cut. */
export const UNREAD_TOTAL_BYTES_MAX = 268_435_456;

/** How often all are counted, in ms. */
const COUNT_EVERY_MS = 250;

/** A client and where it is. */
export interface CountedClient {
  readonly socket: Pick<WebSocket, 'bufferedAmount' | 'terminate'>;
  readonly address: string;
}

/** Counts the clients from time to time, and cuts those that hold too much. Returns what stops it. */
export function boundUnreadBytes(clients: () => Iterable<CountedClient>, clock: Pick<Clock, 'after'>): () => void {
  let cancel = (): void => {};
  const look = (): void => {
    cutGreedy([...clients()]);
    cancel = clock.after(COUNT_EVERY_MS, look);
  };
  cancel = clock.after(COUNT_EVERY_MS, look);
  return () => cancel();
}

/** Cuts the fullest socket of the network that holds most, until all together are within bounds. */
export function cutGreedy(clients: readonly CountedClient[]): void {
  const held = clients.flatMap(({ socket, address }) =>
    socket.bufferedAmount === 0 ? [] : [{ socket, network: sourceNetwork(address), bytes: socket.bufferedAmount }],
  );
  const byNetwork = new Map<string, number>();
  let total = 0;
  for (const { network, bytes } of held) {
    byNetwork.set(network, (byNetwork.get(network) ?? 0) + bytes);
    total += bytes;
  }
  const fullestFirst = held.toSorted((one, other) => other.bytes - one.bytes);
  for (const { socket, bytes } of fullestFirst) if (bytes > UNREAD_BYTES_MAX) socket.terminate();
  while (total > UNREAD_TOTAL_BYTES_MAX) {
    const [greediest] = [...byNetwork].reduce((most, one) => (one[1] > most[1] ? one : most));
    const at = fullestFirst.findIndex(({ network }) => network === greediest);
    const [cut] = at === -1 ? [] : fullestFirst.splice(at, 1);
    if (cut === undefined) return;
    cut.socket.terminate();
    total -= cut.bytes;
    byNetwork.set(greediest, (byNetwork.get(greediest) ?? 0) - cut.bytes);
  }
}
