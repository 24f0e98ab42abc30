/** Opens the journal, and sets a damaged one aside. */
import { existsSync, renameSync } from 'node:fs';
import type { DataDirectory } from '../../data-directory.ts';
import { isDamage } from './damage.ts';
import { JournalVersionError } from './journal-schema.ts';
import { Journal } from './journal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../../../transport/net/log.ts';
import { AgentProblem, EXIT_STATUS, systemProblem } from '../../problem.ts';
import { removeFile } from '../../removal.ts';
import type { Timeline } from '../timeline.ts';

/**
 * The journal at `path`. A damaged one is kept under a dated name and a new one begun: executions whose processes still
 * have their files are taken up from there, the admin ends the others when `hello` does not name them. Throws an
 * `AgentProblem` when the file belongs to a newer agent or cannot be used now.
 */
export function openJournal(path: string, timeline: Timeline, log: Log, ledger: Ledger | null): Journal {
  try {
    return new Journal(path, timeline, log, ledger);
  } catch (error) {
    if (error instanceof JournalVersionError) throw new AgentProblem(`${path}: ${error.message}`, EXIT_STATUS.failed);
    if (!isDamage(error))
      throw new AgentProblem(`The journal ${path} cannot be opened: ${systemProblem(error)}`, EXIT_STATUS.failed);
  }
  const aside = `${path}.damaged-${new Date(timeline.wallMs()).toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const suffix of ['', '-wal', '-shm']) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  log.error(
    {},
    `The journal is damaged; it was kept as ${aside} and a new one begun: outputs that were not delivered yet are lost`,
  );
  return new Journal(path, timeline, log, ledger);
}

/**
 * Removes the journal and the ledger of an identity that is given up, and damaged ones, which hold scripts and outputs
 * as well. Throws an `AgentProblem` when something of them stays.
 */
export function removeJournal(directory: Pick<DataDirectory, 'journal' | 'ledger'>): void {
  for (const path of [directory.ledger, directory.journal]) {
    const problem = removeFile(path);
    if (problem !== null)
      throw new AgentProblem(
        `What the identity before this one ran cannot be removed, and is not to be this one's: ${problem}`,
        EXIT_STATUS.failed,
      );
  }
}
