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

/**
 * A look-up by key that shares queries with those that wait at the same time, at most `keysMax` in one. `load` gets the
 * keys, and answers a value for each, in their order; when it rejects, all of them do. Every look-up is answered from a
 * query that began after it was asked.
 */
export function batched<K, V>(
  load: (keys: readonly K[]) => Promise<readonly V[]>,
  keysMax = BATCH_MAX,
): (key: K) => Promise<V> {
  let waiting: Waiting<K, V>[] = [];
  let running = 0;
  let scheduled = false;

  const run = async (batch: readonly Waiting<K, V>[]): Promise<void> => {
    try {
      const values = await load(batch.map(({ key }) => key));
      batch.forEach(({ resolve }, index) => resolve(values[index] as V));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      running -= 1;
      pump();
    }
  };
  const pump = (): void => {
    scheduled = false;
    while (running < RUNNING_MAX && waiting.length > 0) {
      const batch = waiting.slice(0, keysMax);
      waiting = waiting.slice(keysMax);
      running += 1;
      void run(batch);
    }
  };
  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (scheduled || running >= RUNNING_MAX) return;
      scheduled = true;
      setImmediate(pump); // what else this turn of the event loop asks goes along
    });
}
