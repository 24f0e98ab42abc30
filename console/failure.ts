/** Calls that failed: what is said of them, and whether anything was done. */
import { TEXTS } from './texts.ts';

/** There was no connection: nothing was sent, so that nothing was done. */
export class NotSent extends Error {
  constructor() {
    super(TEXTS.calls.notSent);
  }
}

/** Whether that is why a call failed. */
export function isNotSent(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof NotSent;
}
