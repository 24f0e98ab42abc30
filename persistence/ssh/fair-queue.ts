/** Work in flows: a few pieces at a time, each flow in its turn, so that one that is full holds up no other (L1). */

/** Bounds of a queue. */
export interface QueueLimits {
  /** Pieces of work at a time. */
  readonly runningMax: number;
  /** Pieces that wait, in all flows. */
  readonly waitingMax: number;
}

/** Runs a piece of work when its flow's turn comes, and answers what it came to. Null: there was no room for it. */
export type FairQueue = <T>(flow: string, work: () => Promise<T>) => Promise<T | null>;

/** Lets a piece that waits begin, or go away. */
type Waiting = (begins: boolean) => void;

/**
 * A queue with nothing in it. When it is full, a flow that has two more than the newcomer's gives up its youngest:
 * nobody is kept out by one flow.
 */
export function createFairQueue({ runningMax, waitingMax }: QueueLimits): FairQueue {
  /** In the order of their turns. None is empty. */
  const flows = new Map<string, Waiting[]>();
  let running = 0;
  let waiting = 0;

  function enter(flow: string): Promise<boolean> {
    if (running < runningMax) {
      running += 1;
      return Promise.resolve(true);
    }
    const own = flows.get(flow) ?? [];
    if (waiting >= waitingMax && !displace(own.length)) return Promise.resolve(false);
    if (own.length === 0) flows.set(flow, own);
    waiting += 1;
    return new Promise((resolve) => {
      own.push(resolve);
    });
  }

  function displace(ownLength: number): boolean {
    let longest: readonly [string, Waiting[]] | null = null;
    for (const flow of flows) if (longest === null || flow[1].length > longest[1].length) longest = flow;
    if (longest === null || longest[1].length < ownLength + 2) return false;
    waiting -= 1;
    longest[1].pop()?.(false);
    return true;
  }

  /** Whoever ends hands its place to the first of the next flow, which is last then. */
  function leave(): void {
    const [next] = flows;
    if (next === undefined) {
      running -= 1;
      return;
    }
    const [flow, [first, ...others]] = next;
    flows.delete(flow);
    if (others.length > 0) flows.set(flow, others);
    waiting -= 1;
    first?.(true);
  }

  return async (flow, work) => {
    if (!(await enter(flow))) return null;
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
