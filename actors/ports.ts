/** What every part of the admin is given, or may meet. */

/** Time and delays; tests give their own. */
export interface Clock {
  /** Unix time, ms. */
  nowMs(): number;
  /** Calls back once after the delay; the returned function cancels. Never keeps the process alive. */
  after(ms: number, run: () => void): () => void;
}

/**
 * Structured lines. `fields` come first and may hold anything but secrets' own names, which are blanked; the message is
 * constant, so that lines can be counted by it.
 */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The database did not answer in time, or the connection was lost: what was written is unknown. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
}
