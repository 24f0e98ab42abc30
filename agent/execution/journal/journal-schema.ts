/** The journal's tables. */

/**
 * What an agent must know to read the file, as SQLite's `user_version`: every agent refuses another one. So it stays as
 * it is, for as long as an agent of before may come back, as an updater brings it when a new version does not work: the
 * tables only grow, by what LATER_COLUMNS says and nothing else. Source: docs/architecture/self-updates.md.
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

/**
 * How far the tables have grown, for people and for releases (`journal_schema`): raised with LATER_COLUMNS, refused by
 * nobody. 1: the first tables; 2: traces.
 */
export const JOURNAL_GROWTH = 2;

/** The journal was written by a newer agent. */
export class JournalVersionError extends Error {
  constructor(version: number) {
    super(`the journal has version ${version}, this agent knows ${JOURNAL_VERSION}: install a newer agent`);
  }
}
