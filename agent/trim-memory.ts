/** Gives back the memory that starting took. */

/** The collector as `--expose-gc` gives it. */
type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/**
 * Collects garbage thoroughly, once. Loading and enrolling leave the heap twice as large as what lives in it, and an
 * idle agent allocates too little for V8 ever to notice: 10 MiB less afterwards, for 20 ms (measured).
 */
export function trimMemory(): void {
  // not by `import`, which would look at all that it exports
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  setFlagsFromString('--expose-gc');
  const collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** The first session is followed by whatever waited for this node; memory is trimmed after that, in ms. */
const TRIM_AFTER_MS = 2_000;

/** Of one agent. */
export class FirstTrim {
  #isDone = false;

  /** A session is live. */
  connected(): void {
    if (!this.#isDone) setTimeout(trimMemory, TRIM_AFTER_MS).unref();
    this.#isDone = true;
  }
}
