/** Many things to do, several of them at a time. */

/**
 * Does something with each thing, at most so many at a time. After one that rejects no more are begun, and it rejects
 * alike once those under way have ended.
 */
export async function eachOf<T>(
  things: Iterable<T>,
  atOnceMax: number,
  act: (thing: T) => Promise<void>,
): Promise<void> {
  const waiting = things[Symbol.iterator]();
  let hasFailed = false;
  const work = async (): Promise<void> => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
      await act(next.value).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
      if (hasFailed) return;
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: atOnceMax }, work));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
