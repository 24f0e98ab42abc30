/** Look-ups that wait together become one query. */

/** Look-ups in one query unless said otherwise: bounds a statement's parameters. The rest goes with the next. */
const BATCH_MAX = 1_000;

/** Queries of one batcher at a time. While they run, look-ups gather; more would only take connections from others. */
const RUNNING_MAX = 2;

interface Waiting<K, V> {
  readonly key: K;
  readonly resolve: (value: V) => void;
  readonly reject: (error: unknown) => void;
}

/** How look-ups become queries. */
export interface BatchOptions {
  /** Look-ups in one query, at most. */
  readonly keysMax?: number;
  /**
   * From the beginning of one query to that of the next, in ms: where thousands ask one after the other, each query
   * costs more than its look-ups. The first one never waits.
   */
  readonly apartMs?: number;
  readonly clock?: BatchClock;
}

/** The time, and what is to be done later, both in ms. */
export interface BatchClock {
  readonly nowMs: () => number;
  readonly after: (ms: number, run: () => void) => void;
}

const CLOCK: BatchClock = {
  nowMs: () => performance.now(),
  after: (ms, run) => void setTimeout(run, ms),
};

/**
 * A look-up by key that shares queries with those that wait at the same time. `load` gets the keys, and answers a value
 * for each, in their order; when it rejects, all of them do. Every look-up is answered from a query that began after it
 * was asked.
 */
export function batched<K, V>(
  load: (keys: readonly K[]) => Promise<readonly V[]>,
  { keysMax = BATCH_MAX, apartMs = 0, clock = CLOCK }: BatchOptions = {},
): (key: K) => Promise<V> {
  let waiting: Waiting<K, V>[] = [];
  let running = 0;
  let scheduled = false;
  let beganMs = -Infinity;

  const run = async (batch: readonly Waiting<K, V>[]): Promise<void> => {
    try {
      const values = await load(batch.map(({ key }) => key));
      batch.forEach(({ resolve }, index) => resolve(values[index] as V));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      running -= 1;
      if (apartMs === 0) pump();
      else next();
    }
  };
  const pump = (): void => {
    scheduled = false;
    while (running < RUNNING_MAX && waiting.length > 0) {
      if (apartMs > 0 && clock.nowMs() - beganMs < apartMs) return next();
      if (apartMs > 0) beganMs = clock.nowMs();
      const batch = waiting.slice(0, keysMax);
      waiting = waiting.slice(keysMax);
      running += 1;
      void run(batch);
    }
  };
  /** What else this turn of the event loop asks goes along, and what is asked until the next query may begin. */
  const next = (): void => {
    if (scheduled || running >= RUNNING_MAX || waiting.length === 0) return;
    scheduled = true;
    const waitMs = apartMs === 0 ? 0 : beganMs + apartMs - clock.nowMs();
    if (waitMs > 0) clock.after(waitMs, pump);
    else setImmediate(pump);
  };
  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      next();
    });
}
