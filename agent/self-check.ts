/**
 * `edge-agent check`: whether this version can run on this machine's data, looked at while another version runs on it.
 * Takes no lock and writes nothing.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { GivenConfig } from './config.ts';
import { IDENTITY_FILE, JOURNAL_FILE, LEDGER_FILE } from './data-directory.ts';
import { readIdentity } from './enrollment/identity.ts';
import { isDamage } from './execution/journal/damage.ts';
import { JOURNAL_GROWTH, JOURNAL_VERSION, JournalVersionError } from './execution/journal/journal-schema.ts';
import { decodeHeader, LEDGER_VERSION, RECORD_BYTES } from './execution/ledger/ledger-record.ts';
import { AgentProblem, EXIT_STATUS, systemProblem } from './problem.ts';

/**
 * One line that says that it can. Throws an `AgentProblem` that says why not: an identity that cannot be read, or files
 * that only a newer agent understands. A damaged journal is no reason, as the agent begins another one.
 */
export function selfCheck({ AGENT_DATA_DIR: directory }: Pick<GivenConfig, 'AGENT_DATA_DIR'>, version: string): string {
  readIdentity(join(directory, IDENTITY_FILE));
  checkJournal(join(directory, JOURNAL_FILE));
  checkLedger(join(directory, LEDGER_FILE));
  return `edge-agent ${version} can run here: journal schema ${JOURNAL_GROWTH}`;
}

function checkJournal(path: string): void {
  const version = journalVersion(path);
  if (version !== 0 && version !== JOURNAL_VERSION)
    throw new AgentProblem(`${path}: ${new JournalVersionError(version).message}`, EXIT_STATUS.failed);
}

/** 0: there is none, or nothing in it yet. */
function journalVersion(path: string): number {
  const url = pathToFileURL(path);
  // As it stands in the file, without what is still in its log: the running agent holds the lock, and the version is
  // written once, when the file is made.
  url.searchParams.set('immutable', '1');
  try {
    const database = new DatabaseSync(url, { readOnly: true });
    try {
      return Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
    } finally {
      database.close();
    }
  } catch (error) {
    // The agent sets a damaged one aside. One that was being written as it was read looks damaged, too.
    if (isDamage(error) || !isThere(path)) return 0;
    throw new AgentProblem(`The journal ${path} cannot be read: ${systemProblem(error)}`, EXIT_STATUS.failed);
  }
}

function checkLedger(path: string): void {
  const header = headerOf(path);
  const version = header === null ? null : decodeHeader(header);
  if (version !== null && version > LEDGER_VERSION)
    throw new AgentProblem(
      `${path}: the ledger has version ${version}, this agent knows ${LEDGER_VERSION}: install a newer agent`,
      EXIT_STATUS.failed,
    );
}

/** Null: there is none. */
function headerOf(path: string): Buffer | null {
  if (!isThere(path)) return null;
  const header = Buffer.alloc(RECORD_BYTES);
  const file = openSync(path, 'r');
  try {
    readSync(file, header, 0, RECORD_BYTES, 0);
    return header;
  } finally {
    closeSync(file);
  }
}

/** Throws an `AgentProblem` where it is there and this user may not read it. */
function isThere(path: string): boolean {
  try {
    closeSync(openSync(path, 'r'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw new AgentProblem(`${path} cannot be read: ${systemProblem(error)}`, EXIT_STATUS.failed);
  }
}
