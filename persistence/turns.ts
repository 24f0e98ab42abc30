/** Work of which only so much may be done at a time: it takes much memory, or a connection. */
import { DatabaseUnavailable } from '../actors/kit/ports.ts';

/** Does the work when it is its turn. Rejects with DatabaseUnavailable, at once, when too many wait already. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** So many at once; so many more may wait. `doing` says what for, in the error. */
export function createTurns(doing: string, atOnceMax: number, waitingMax: number): Turns {
  const waiting: (() => void)[] = [];
  let atWork = 0;
  return async (work) => {
    if (atWork >= atOnceMax) {
      if (waiting.length >= waitingMax) throw new DatabaseUnavailable(`${doing}: too many wait already`);
      await new Promise<void>((resolve) => { waiting.push(resolve); }); // whoever ends leaves its place to this one
    } else {
      atWork += 1;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) atWork -= 1;
      else next();
    }
  };
}
