/** Waiting for what other processes do: looked at again and again, with a deadline. */
import { setTimeout as delay } from 'node:timers/promises';

/** Wait between two looks, in ms. */
const LOOK_MS = 15;

/** Deadline unless another is given, in ms: far above what anything here takes, also on a busy machine. */
const DEADLINE_MS = 30_000;

/**
 * The first answer of `look` that is neither false nor null nor undefined. An error is an answer to look again after,
 * as servers are killed meanwhile; at the deadline it is the cause of the rejection, which says `what` was waited for
 * and why it was not there.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  msMax: number = DEADLINE_MS,
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + msMax;
  let problem: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== false && seen !== null && seen !== undefined) return seen as Exclude<T, false | null | undefined>;
      problem = undefined;
    } catch (error) {
      problem = error;
    }
    if (performance.now() > deadline)
      throw new Error(`${what}: not within ${msMax} ms${problem instanceof Error ? `; ${problem.message}` : ''}`, {
        cause: problem,
      });
    await delay(LOOK_MS);
  }
}
