/** Work on many things, some of them at a time. */

/**
 * Does it to each, at most `atOnceMax` at the same time. Answers in the order of the things; rejects with the first
 * that does.
 */
export async function inTurns<T, R>(
  items: readonly T[],
  atOnceMax: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const done: R[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) done[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, worker));
  return done;
}
