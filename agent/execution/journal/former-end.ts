/** What is said of an execution that the journal has forgotten, by what the ledger knows of it. */
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { EXIT_INTERRUPTED } from '../../../transport/protocol/limits.ts';
import type { Ending } from '../execution.ts';
import type { Ledger, Tombstone } from '../ledger/ledger.ts';

/** An end whose output is kept no more; `text` stands for it. */
export interface FormerEnd {
  readonly outcome: Ending['outcome'];
  readonly exitCode: number;
  readonly text: string;
}

/** Of an execution that this machine had, as an admin knows, and that neither file knows. */
const LOST: FormerEnd = { outcome: 'cancelled', exitCode: EXIT_INTERRUPTED, text: '' };

/** How it ended, to be answered instead of being run again (C3). */
export function formerEnd(ledger: Ledger | null, execution: ExecutionId): FormerEnd {
  return ledger?.stateOf(execution) == null ? LOST : endOf(ledger.tombstone(execution));
}

/** The same as an end that is stored like any other. */
export function formerEnding(ledger: Ledger | null, execution: ExecutionId): Ending {
  const { outcome, exitCode, text } = formerEnd(ledger, execution);
  return { execution, outcome, exitCode, output: Buffer.from(text), outputTruncated: text !== '', hasRun: false };
}

/**
 * What is said of an execution whose output is kept no more. Without an ending it was lost with the machine, as after
 * any power cut.
 */
function endOf(tombstone: Tombstone | null): FormerEnd {
  if (tombstone === null)
    return {
      outcome: 'cancelled',
      exitCode: EXIT_INTERRUPTED,
      text: '[This execution was started on this machine before. How it ended is not known any more, nor is its output; it was not run again.]\n',
    };
  const { outcome, exitCode, outputBytes, outputHash } = tombstone;
  return {
    outcome,
    exitCode,
    text: `[This execution ended on this machine before and was not run again. Its output is not kept any more: it had ${outputBytes} bytes, SHA-256 ${outputHash}.]\n`,
  };
}
