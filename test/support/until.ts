/** Waiting for what other processes do: looked at again and again, with a deadline. */
import { setTimeout as delay } from 'node:timers/promises';
import { scaled } from './busy.ts';

/**
 * Wait between two looks, in ms, at first and at most: a look asks a server, which costs both sides more than the
 * answer is worth when it comes after seconds anyway.
 */
const [LOOK_MS_MIN, LOOK_MS_MAX] = [15, 100];

/** Between both bounds: this part of what was waited so far. */
const LOOK_SHARE = 0.1;

/** Deadline unless another is given, in ms: far above what anything here takes. */
const DEADLINE_MS = 30_000;

/**
 * The first answer of `look` that is neither false nor null nor undefined. An error is an answer to look again after,
 * as servers are killed meanwhile; at the deadline it is the cause of the rejection, which says `what` was waited for
 * and why it was not there.
 * A deadline is for a machine that does nothing else, and is longer on one that is busy.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  msMax: number = DEADLINE_MS,
): Promise<Exclude<T, false | null | undefined>> {
  const startMs = performance.now();
  let problem: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== false && seen !== null && seen !== undefined) return seen as Exclude<T, false | null | undefined>;
      problem = undefined;
    } catch (error) {
      problem = error;
    }
    const waitedMs = performance.now() - startMs;
    if (waitedMs > msMax && waitedMs > scaled(msMax))
      throw new Error(
        `${what}: not within ${Math.round(waitedMs)} ms${problem instanceof Error ? `; ${problem.message}` : ''}`,
        {
          cause: problem,
        },
      );
    await delay(Math.min(Math.max(waitedMs * LOOK_SHARE, LOOK_MS_MIN), LOOK_MS_MAX));
  }
}

/** Waits until `look` sees the same twice, so many ms apart: what it sees then. */
export async function untilStill<T>(what: string, look: () => T, everyMs = 500): Promise<T> {
  let seen = look();
  await until(what, async () => {
    await delay(everyMs);
    const before = seen;
    seen = look();
    return seen === before;
  });
  return seen;
}
