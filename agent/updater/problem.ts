/** What stops an update: expected, and said in one line. */

/** An expected failure. `message` says what is wrong, where, and what to do; it holds no secret. */
export class UpdateProblem extends Error {}

/** What went wrong, in words: of a problem its own, of anything else what it says. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
