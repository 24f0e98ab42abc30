/** What every part of the admin is given, or may meet. */

/** Time and delays; tests give their own. */
export interface Clock {
  /** Unix time, ms. */
  nowMs(): number;
  /** Calls back once after the delay; the returned function cancels. Never keeps the process alive. */
  after(ms: number, run: () => void): () => void;
  /**
   * Runs once `nowMs` can be relied on: at once, or, where this machine may have stood still, as soon as that is known.
   * Left out: it always can be.
   */
  whenKnown?(run: () => void): void;
}

/** The database did not answer in time, or the connection was lost: what was written is unknown. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
}

/**
 * The same, where nobody answered for as long as is waited: the server may well be there, busy with what it was asked.
 */
export class Unanswered extends DatabaseUnavailable {}

/** The same, where nothing was written: it was never begun, or the database took it back. */
export class NothingWritten extends DatabaseUnavailable {}

/**
 * Whether the database was lost, so that trying costs it nothing: it neither ended the statement nor is busy with it.
 */
export function isAway(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && !(error instanceof NothingWritten || error instanceof Unanswered);
}

/**
 * A list has more rows than can be looked through in time, and no filter by which an index finds some of them.
 * `narrower`: words for those that do.
 */
export class ListTooLong extends Error {
  override readonly name = 'ListTooLong';
  readonly narrower: string;

  constructor(narrower: string, cause: unknown) {
    super(`The list is too long for these filters: add ${narrower}.`, { cause });
    this.narrower = narrower;
  }
}

/** Another process has taken the name of this admin over: it may do nothing more. */
export class NameTakenOver extends Error {
  override readonly name = 'NameTakenOver';
}
