/** Work of which only so much may be done at a time: it takes much memory, or a connection. */
import { NothingWritten } from '../../actors/ports.ts';

export interface Semaphore {
  /**
   * Does the work when it is its turn. Rejects with NothingWritten, at once when too many wait already, or when its
   * turn did not come in time: the work was not begun.
   */
  <T>(work: () => Promise<T>): Promise<T>;
  /** Does the work if there is room for it now; null: there is none. */
  now<T>(work: () => Promise<T>): Promise<T> | null;
}

/**
 * So many at once; so many more may wait, and for so long, in ms: null, until it is their turn. `doing` says what for,
 * in the error.
 */
export function createSemaphore(
  doing: string,
  atOnceMax: number,
  waitingMax: number,
  waitMsMax: number | null = null,
): Semaphore {
  const waiting = new Set<() => void>(); // oldest first
  let atWork = 0;

  /** Whoever ends leaves its place to this one. */
  async function slot(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.add(resolve);
    const timer =
      waitMsMax === null
        ? undefined
        : setTimeout(() => {
            waiting.delete(resolve);
            reject(new NothingWritten(`${doing}: its turn did not come in time`));
          }, waitMsMax);
    await promise;
    clearTimeout(timer);
  }

  async function done<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      const [next] = waiting;
      if (next === undefined) {
        atWork -= 1;
      } else {
        waiting.delete(next);
        next();
      }
    }
  }

  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (atWork >= atOnceMax) {
      if (waiting.size >= waitingMax) throw new NothingWritten(`${doing}: too many wait already`);
      await slot();
    } else {
      atWork += 1;
    }
    return done(work);
  };
  const now = <T>(work: () => Promise<T>): Promise<T> | null => {
    if (atWork >= atOnceMax) return null;
    atWork += 1;
    return done(work);
  };
  return Object.assign(inTurn, { now });
}
