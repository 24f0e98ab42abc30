/**
 * Committed notices to whoever listens, in commit order. Listeners must not block: a slow one keeps its own bounded
 * queue.
 */
import type { Notice } from './notice.ts';
import type { Log } from '../transport/net/log.ts';

/** Hears the notices of one commit together, in order. Must return at once; what it throws is logged. */
export type NoticeListener = (notices: readonly Notice[]) => void;

/** Publishes what was stored to every listener. */
export interface Bus {
  publish(notices: readonly Notice[]): void;
  /** The returned function ends the subscription. */
  subscribe(listener: NoticeListener): () => void;
}

/**
 * A bus of this process, which also tells what another one tells, where one is given. A listener that throws is logged
 * and the others still hear.
 */
export function createBus(log: Log, follows?: Pick<Bus, 'subscribe'>): Bus {
  const listeners = new Set<NoticeListener>();
  const bus: Bus = {
    publish(notices) {
      if (notices.length === 0) return;
      for (const listener of listeners) {
        try {
          listener(notices);
        } catch (error) {
          log.error({ error }, 'a listener of the bus failed');
        }
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  follows?.subscribe((notices) => bus.publish(notices));
  return bus;
}
