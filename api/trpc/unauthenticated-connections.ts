/** Connections that have not shown a key: they get little time, and not the places of those that have. */
import type { Clock } from '../../actors/ports.ts';
import { sourceNetwork } from '../../transport/net/source-networks.ts';

/** Time in which a connection shows a key that is known here, in ms. Programs send it with the first message. */
export const SIGN_IN_MS_MAX = 10_000;

/** Connections that have not shown one, at a time. */
export const UNAUTHENTICATED_MAX = 1_000;

/** Those that are open now. */
export interface UnauthenticatedConnections {
  /**
   * Somebody waits, until the returned function is called. `leave` is called when the time is over, or when there
   * are too many and others need the place more.
   */
  enter(address: string, leave: () => void): () => void;
}

interface Waiting {
  readonly network: string;
  readonly leave: () => void;
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
    if (oldest !== undefined && remove(oldest)) oldest.leave();
  }

  return {
    enter(address, leave) {
      if (waiting.size >= UNAUTHENTICATED_MAX) makeRoom();
      const one: Waiting = { network: sourceNetwork(address), leave };
      waiting.add(one);
      byNetwork.set(one.network, (byNetwork.get(one.network) ?? 0) + 1);
      const cancel = clock.after(SIGN_IN_MS_MAX, () => {
        if (remove(one)) leave();
      });
      return () => {
        cancel();
        remove(one);
      };
    },
  };
}
