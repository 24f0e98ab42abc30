/** Work that is done in turn, as each piece of it is a machine of its own. */

/** What the task answers for each, in their order, one after the other. */
export async function inTurn<T, R>(values: readonly T[], task: (value: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (const value of values) done.push(await task(value));
  return done;
}
