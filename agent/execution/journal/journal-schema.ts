/** The journal's tables. */

/**
 * Raised with every change of the tables that an older agent could not live with: one that goes back to the version
 * before must still read the file.
 */
export const JOURNAL_VERSION = 1;

/** `boot_id`, `monotonic_ms` and `wall_ms` are the moment of receipt, and from the start on that of the start. */
export const JOURNAL_SCHEMA = `
CREATE TABLE execution (
  receipt INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('received', 'started', 'finished')),
  command_text TEXT NOT NULL,
  timeout_ms INTEGER,
  expires_in_ms INTEGER,
  boot_id TEXT NOT NULL,
  monotonic_ms INTEGER NOT NULL,
  wall_ms INTEGER NOT NULL,
  keeper TEXT,
  outcome TEXT,
  exit_code INTEGER,
  output BLOB,
  output_bytes INTEGER,
  output_truncated INTEGER,
  finished_order INTEGER,
  traceparent TEXT,
  ran_ms INTEGER,
  CHECK (state = 'received' OR keeper IS NOT NULL OR state = 'finished'),
  CHECK (state <> 'finished' OR (outcome IS NOT NULL AND exit_code IS NOT NULL AND output IS NOT NULL))
);
CREATE INDEX execution_state ON execution (state, finished_order);
CREATE TABLE probe (id INTEGER PRIMARY KEY, filler BLOB)`;

/**
 * Columns of `execution` that came later, all nullable: added to a journal that lacks them, and left alone by agents
 * that do not know them. `traceparent` is that of the delivery, `ran_ms` how long the process ran.
 */
export const LATER_COLUMNS = { traceparent: 'TEXT', ran_ms: 'INTEGER' } as const;

/** The journal was written by a newer agent. */
export class JournalVersionError extends Error {
  constructor(version: number) {
    super(`the journal has version ${version}, this agent knows ${JOURNAL_VERSION}: install a newer agent`);
  }
}
