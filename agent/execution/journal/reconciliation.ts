/** The journal and the ledger, compared when they are opened: what one of the two files lost, the other has. */
import { EXECUTIONS_PER_FRAME_MAX } from '../../../transport/protocol/limits.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import type { JournalRows, RowState } from './journal-rows.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { KnownStart } from './unstored-executions.ts';

/** The journal, as far as it is compared. */
export interface ReconciledJournal {
  /** Follows what the other two change. */
  readonly states: ReadonlyMap<ExecutionId, RowState>;
  readonly rows: Pick<JournalRows, 'started' | 'ending'>;
  readonly restore: (start: KnownStart) => void;
  /** Has these finished as the ledger knows them. */
  readonly answer: (executions: readonly ExecutionId[]) => void;
}

/** Has both know what either knows (C3). */
export function reconcile(ledger: Ledger, { states, rows, restore, answer }: ReconciledJournal): void {
  for (const { execution, shim } of ledger.started()) restore({ execution, shim: shim ?? `none-${execution}` });
  const room = Math.max(0, EXECUTIONS_PER_FRAME_MAX - states.size);
  answer(
    ledger
      .unconfirmed()
      .filter((execution) => !states.has(execution))
      .slice(0, room),
  );
  const inState = (wanted: RowState) =>
    [...states].filter(([, state]) => state === wanted).map(([execution]) => execution);
  const isOver = (execution: ExecutionId) => ['ended', 'confirmed'].includes(ledger.stateOf(execution) ?? '');
  // the machine went down before the journal's end was on its disk
  answer([...inState('received'), ...inState('started')].filter(isOver));
  const unknown = rows.started().filter(({ execution }) => ledger.stateOf(execution) === null);
  if (unknown.length > 0) ledger.start(unknown);
  // one at a time: a ledger that is new lacks all of them, and each comes with its whole output
  for (const execution of inState('finished').filter((one) => !isOver(one))) ledger.end([rows.ending(execution)]);
}
