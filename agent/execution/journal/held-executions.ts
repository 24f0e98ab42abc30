/**
 * Which executions the journal holds, each in its state, and what became of others since it was opened: in memory, as
 * the rows have it.
 */
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { EXECUTIONS_PER_FRAME_MAX } from '../../../transport/protocol/limits.ts';
import type { Ending, JournalCounts } from '../execution.ts';
import type { RowState } from './journal-rows.ts';

/** To be told of every change of the rows, behind it. */
export class HeldExecutions {
  /** In the order of receipt. */
  readonly #states: Map<ExecutionId, RowState>;
  /** Confirmed while the disk refused the deletion: not to be sent again, and deleted with the next success. */
  readonly #unwanted = new Set<ExecutionId>();
  readonly #past = { received: 0, completed: 0, cancelled: 0, dropped: 0 };

  constructor(rows: Iterable<readonly [ExecutionId, RowState]>) {
    this.#states = new Map(rows);
  }

  /** Of all that have a row, unwanted ones too; follows every change. */
  get states(): ReadonlyMap<ExecutionId, RowState> {
    return this.#states;
  }

  /** Those whose rows are still to be deleted. */
  get unwanted(): ReadonlySet<ExecutionId> {
    return this.#unwanted;
  }

  /** Those of them in this state. */
  unwantedIn(state: RowState): readonly ExecutionId[] {
    return [...this.#unwanted].filter((execution) => this.#states.get(execution) === state);
  }

  /** How many more are taken in. */
  get room(): number {
    return Math.max(0, EXECUTIONS_PER_FRAME_MAX - this.#states.size);
  }

  /** For metrics. */
  counts(): JournalCounts {
    const now = { received: 0, started: 0, finished: 0 };
    for (const [execution, state] of this.#states) if (!this.#unwanted.has(execution)) now[state] += 1;
    return { waiting: now.received, started: now.started, unconfirmed: now.finished, ...this.#past };
  }

  /** It has a row that somebody wants. */
  has(execution: ExecutionId): boolean {
    return this.#states.has(execution) && !this.#unwanted.has(execution);
  }

  /** All of these, in the order of receipt. */
  wanted(): readonly ExecutionId[] {
    return [...this.#states.keys()].filter((execution) => !this.#unwanted.has(execution));
  }

  /** All in this state, unwanted ones too, in the order of receipt. */
  inState(wanted: RowState): readonly ExecutionId[] {
    return [...this.#states].filter(([, state]) => state === wanted).map(([execution]) => execution);
  }

  /** They are new here. */
  received(executions: readonly ExecutionId[], stateOf: (execution: ExecutionId) => RowState): void {
    this.#past.received += executions.length;
    for (const execution of executions) this.#states.set(execution, stateOf(execution));
  }

  /** They have a row in this state, whatever was there before; none of it counts. */
  set(executions: readonly ExecutionId[], state: RowState): void {
    for (const execution of executions) this.#states.set(execution, state);
  }

  /** Whether its end would be news: it is here, and has not ended. */
  isUnfinished(execution: ExecutionId): boolean {
    return this.#states.has(execution) && this.#states.get(execution) !== 'finished';
  }

  /** They ended. Only the first end of each counts. */
  finished(endings: readonly Pick<Ending, 'execution' | 'outcome'>[]): void {
    for (const { execution, outcome } of endings) {
      if (!this.isUnfinished(execution)) continue;
      this.#states.set(execution, 'finished');
      this.#past[outcome] += 1;
    }
  }

  /**
   * Finished ones among these that were unwanted, and are no more: whoever names them again has lost them since (a
   * database that was set back) and gets them as they are.
   */
  wantAgain(executions: readonly ExecutionId[]): readonly ExecutionId[] {
    return executions.filter(
      (execution) => this.#states.get(execution) === 'finished' && this.#unwanted.delete(execution),
    );
  }

  /** Nobody wants these any more, in whatever state they are. */
  giveUp(executions: readonly ExecutionId[]): void {
    for (const execution of executions.filter((one) => this.has(one))) {
      this.#unwanted.add(execution);
      if (this.isUnfinished(execution)) this.#past.dropped += 1;
    }
  }

  /** The rows of all that are unwanted are gone. */
  forgetUnwanted(): void {
    for (const execution of this.#unwanted) this.#states.delete(execution);
    this.#unwanted.clear();
  }
}
