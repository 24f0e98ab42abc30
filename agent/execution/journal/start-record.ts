/** Starts in both files: the ledger has them before the journal, which may be damaged. */
import type { Ledger, LedgerStart } from '../ledger/ledger.ts';
import type { JournalFile } from './journal-file.ts';

/** Where they are written. Without a ledger the journal stands alone. */
export interface StartFiles {
  readonly file: Pick<JournalFile, 'write'>;
  readonly ledger: Pick<Ledger, 'start' | 'withdraw'> | null;
}

/** A transaction of the journal that has starts in it. */
export interface StartTransaction {
  /** What it is for, as the problem says it: `record a start`. */
  readonly what: string;
  /** None of their processes exists yet. */
  readonly starts: readonly LedgerStart[];
  /** It changes nothing else: with the ledger's fsync all of it is on the disk, and the journal's own may follow. */
  readonly isNothingElse: boolean;
  readonly change: () => void;
}

/** True: durable in both. False: in neither. */
export function recordStarts(
  { file, ledger }: StartFiles,
  { what, starts, isNothingElse, change }: StartTransaction,
): boolean {
  if (starts.length > 0 && ledger?.start(starts) === false) return false;
  const isStored = file.write(what, change, isNothingElse && ledger !== null ? 'soon' : 'now');
  if (!isStored) ledger?.withdraw(starts.map(({ execution }) => execution));
  return isStored;
}
