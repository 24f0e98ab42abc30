/** What many ask for over and over: read once for all of them. */

/**
 * Reads when somebody asks, one at a time, and answers for `keptMs` after that with what was read. Whoever asks while
 * it is read shares the answer, and the failure; a failure is not kept. `nowMs`: a monotonic clock.
 */
export function kept<T>(read: () => Promise<T>, keptMs: number, nowMs: () => number): () => Promise<T> {
  let known: { readonly value: T; readonly untilMs: number } | null = null;
  let underWay: Promise<T> | null = null;

  async function readOnce(): Promise<T> {
    try {
      const value = await read();
      known = { value, untilMs: nowMs() + keptMs };
      return value;
    } finally {
      underWay = null;
    }
  }

  return () => {
    if (known !== null && nowMs() < known.untilMs) return Promise.resolve(known.value);
    return (underWay ??= readOnce());
  };
}
