/** The journal's tables. */

/** Raised with every change of the tables. */
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
  CHECK (state = 'received' OR keeper IS NOT NULL OR state = 'finished'),
  CHECK (state <> 'finished' OR (outcome IS NOT NULL AND exit_code IS NOT NULL AND output IS NOT NULL))
);
CREATE INDEX execution_state ON execution (state, finished_order);
CREATE TABLE probe (id INTEGER PRIMARY KEY, filler BLOB)`;
