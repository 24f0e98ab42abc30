/** Connections that have not shown a key: they get little time, and not the places of those that have. */
import type { Socket } from 'node:net';
import type { Clock } from '../../actors/ports.ts';
import { sourceNetwork } from '../../transport/net/source-networks.ts';

/** Time in which a connection shows a key that is known here, in ms. Programs send it with the first message. */
export const SIGN_IN_MS_MAX = 10_000;

/** Connections that have not shown one, at a time. */
export const UNAUTHENTICATED_MAX = 1_000;

/** What one may send before it has shown one, in bytes: a key, and calls that come with it. Messages wait whole. */
export const UNAUTHENTICATED_BYTES_MAX = 65_536;

/** Why one has to leave, as a close reason. */
const NO_KEY_SHOWN = 'no key that is known here was shown in time';
const TOO_MUCH_SENT = `more than ${UNAUTHENTICATED_BYTES_MAX} bytes were sent before a key that is known here`;

/** Those that are open now. */
export interface UnauthenticatedConnections {
  /**
   * Somebody waits, until the returned function is called. `leave` is called when the time is over, when there are too
   * many and others need the place more, or when too much comes over its socket.
   */
  enter(address: string, socket: ReceivingSocket, leave: (reason: string) => void): () => void;
}

/** What somebody's bytes come from. */
export type ReceivingSocket = Pick<Socket, 'on' | 'off' | 'pause'>;

interface Waiting {
  readonly network: string;
  leave(reason: string): void;
}

/**
 * None at first. When there are as many as may be, the oldest of whichever network has most of them makes room: who
 * floods, floods himself.
 */
export function createUnauthenticatedConnections(clock: Pick<Clock, 'after'>): UnauthenticatedConnections {
  const waiting = new Set<Waiting>(); // oldest first
  const byNetwork = new Map<string, number>();

  function remove(one: Waiting): boolean {
    if (!waiting.delete(one)) return false;
    const left = (byNetwork.get(one.network) ?? 0) - 1;
    if (left > 0) byNetwork.set(one.network, left);
    else byNetwork.delete(one.network);
    return true;
  }

  function makeRoom(): void {
    let most = 0;
    for (const count of byNetwork.values()) most = Math.max(most, count);
    const oldest = [...waiting].find(({ network }) => byNetwork.get(network) === most);
    if (oldest !== undefined && remove(oldest)) oldest.leave(NO_KEY_SHOWN);
  }

  return {
    enter(address, socket, leave) {
      if (waiting.size >= UNAUTHENTICATED_MAX) makeRoom();
      let bytes = 0;
      const received = (chunk: Buffer): void => {
        bytes += chunk.length;
        if (bytes <= UNAUTHENTICATED_BYTES_MAX || !remove(one)) return;
        one.leave(TOO_MUCH_SENT);
        socket.pause(); // what else it sends is not heard, and not answered by a reset that takes the reason along
      };
      const cancel = clock.after(SIGN_IN_MS_MAX, () => {
        if (remove(one)) one.leave(NO_KEY_SHOWN);
      });
      const done = (): void => {
        cancel();
        socket.off('data', received);
      };
      const one: Waiting = {
        network: sourceNetwork(address),
        leave(reason) {
          done();
          leave(reason);
        },
      };
      waiting.add(one);
      byNetwork.set(one.network, (byNetwork.get(one.network) ?? 0) + 1);
      socket.on('data', received);
      return () => {
        done();
        remove(one);
      };
    },
  };
}
