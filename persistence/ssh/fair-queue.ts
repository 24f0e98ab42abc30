/** Work in lanes: a few pieces at a time, each lane in its turn, so that one that is full holds up no other (L1). */

/** Bounds of a queue. */
export interface QueueLimits {
  /** Pieces of work at a time. */
  readonly runningMax: number;
  /** Pieces that wait, in all lanes. */
  readonly waitingMax: number;
}

/** Runs a piece of work when its lane's turn comes, and answers what it came to. Null: there was no room for it. */
export type FairQueue = <T>(lane: string, work: () => Promise<T>) => Promise<T | null>;

/** Lets a piece that waits begin, or go away. */
type Waiting = (begins: boolean) => void;

/**
 * A queue with nothing in it. When it is full, a lane that has two more than the newcomer's gives up its youngest:
 * nobody is kept out by one lane.
 */
export function createFairQueue({ runningMax, waitingMax }: QueueLimits): FairQueue {
  /** In the order of their turns. None is empty. */
  const lanes = new Map<string, Waiting[]>();
  let running = 0;
  let waiting = 0;

  function enter(lane: string): Promise<boolean> {
    if (running < runningMax) {
      running += 1;
      return Promise.resolve(true);
    }
    const own = lanes.get(lane) ?? [];
    if (waiting >= waitingMax && !displace(own.length)) return Promise.resolve(false);
    if (own.length === 0) lanes.set(lane, own);
    waiting += 1;
    return new Promise((resolve) => {
      own.push(resolve);
    });
  }

  function displace(ownLength: number): boolean {
    let longest: readonly [string, Waiting[]] | null = null;
    for (const lane of lanes) if (longest === null || lane[1].length > longest[1].length) longest = lane;
    if (longest === null || longest[1].length < ownLength + 2) return false;
    waiting -= 1;
    longest[1].pop()?.(false);
    return true;
  }

  /** Whoever ends hands its place to the first of the next lane, which is last then. */
  function leave(): void {
    const [next] = lanes;
    if (next === undefined) {
      running -= 1;
      return;
    }
    const [lane, [first, ...others]] = next;
    lanes.delete(lane);
    if (others.length > 0) lanes.set(lane, others);
    waiting -= 1;
    first?.(true);
  }

  return async (lane, work) => {
    if (!(await enter(lane))) return null;
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
