/** When a file of SQLite is damaged rather than in trouble. */

/** SQLite's result codes for it. Source: sqlite.org/rescode.html: SQLITE_CORRUPT, SQLITE_NOTADB. */
const DAMAGE_CODES: ReadonlySet<number> = new Set([11, 26]);

/** SQLite looked at all of the file and found something wrong. */
export class JournalDamageError extends Error {}

/** Whether this was thrown because of damage. */
export function isDamage(error: unknown): boolean {
  const { errcode = 0 } = error as { errcode?: number };
  return error instanceof JournalDamageError || DAMAGE_CODES.has(errcode % 256);
}
