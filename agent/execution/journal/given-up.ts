/** What the ledger is told of executions that ran and that no admin wants any more. */
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { EXIT_CANCELLED } from '../../../transport/protocol/limits.ts';
import { neverStarted } from '../execution.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** They count as cancelled, should they ever be sent again; what the ledger knows to be over stays as it ended. */
export function tellGivenUp(ledger: Ledger | null, executions: readonly ExecutionId[]): void {
  if (ledger === null) return;
  const unended = executions.filter((execution) => !['ended', 'confirmed'].includes(ledger.stateOf(execution) ?? ''));
  ledger.end(unended.map((execution) => neverStarted(execution, EXIT_CANCELLED)));
  ledger.confirm(executions);
}
