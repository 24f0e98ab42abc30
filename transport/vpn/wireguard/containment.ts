/**
 * A change of many peers that an interface does not take as a whole: what it refuses is found and left out, and the
 * rest is done (R4).
 */
import { DeviceProblem, DeviceRefusal } from './problem.ts';

/** Peers of one request. A thousand take wireguard-go 213 ms on two busy cores (measured), far below `answerMsMax`. */
const ITEMS_PER_REQUEST_MAX = 1_024;

/**
 * Further requests by which those that are refused are looked for, for one change: twice 10 find one among a thousand.
 * What is left then is refused together.
 */
export const SEARCHES_MAX = 256;

/** Told of each of them once. */
export interface Outcomes<T> {
  readonly taken: (item: T) => void;
  readonly refused: (item: T, why: string) => void;
}

/** Pieces of a size that one request may have, in order. */
export function inPieces<T>(all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / ITEMS_PER_REQUEST_MAX) }, (_, index) =>
    all.slice(index * ITEMS_PER_REQUEST_MAX, (index + 1) * ITEMS_PER_REQUEST_MAX),
  );
}

/**
 * Does `change` with all of which `check` throws nothing; where a `DeviceRefusal` comes of several, with each half of
 * them, in order. What was asked is asked again then, so a change must come to the same twice. Rejects with any other
 * problem: then it is not known what was done.
 */
export async function perItem<T>(
  all: readonly T[],
  check: (item: T) => void,
  change: (items: readonly T[]) => Promise<void>,
  { taken, refused }: Outcomes<T>,
): Promise<void> {
  const sound = all.filter((item) => {
    const why = problemOf(() => check(item));
    if (why !== null) refused(item, why);
    return why === null;
  });
  let searches = SEARCHES_MAX;
  const open = inPieces(sound).toReversed();
  for (let items = open.pop(); items !== undefined; items = open.pop()) {
    const why = await refusalOf(() => change(items));
    if (why === null) {
      items.forEach(taken);
    } else if (items.length === 1 || searches < 2) {
      for (const item of items) refused(item, why);
    } else {
      searches -= 2;
      const middle = Math.ceil(items.length / 2);
      open.push(items.slice(middle), items.slice(0, middle));
    }
  }
}

async function refusalOf(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof DeviceRefusal) return error.message;
    throw error;
  }
}

function problemOf(work: () => void): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof DeviceProblem) return error.message;
    throw error;
  }
}
