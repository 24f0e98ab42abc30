/**
 * What an agent found out at its start, from the ledger or from start locks, while the journal could not be written. It
 * is held as if it had been stored, so that none of it starts again (C3) or is given up (C9): what runs is watched, and
 * all of it is stored with its end.
 */
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import type { Stamp } from '../timeline.ts';

/** A start, with the name of its exec shim's directory. */
export interface KnownStart {
  readonly execution: ExecutionId;
  readonly shim: string;
}

/** As well as is known when it began. */
export interface UnstoredStart extends KnownStart {
  readonly startedAt: Stamp;
}

/** Those of one journal. Its rows say that they wait, or nothing, or that they run still. */
export class UnstoredExecutions {
  readonly #starts = new Map<ExecutionId, UnstoredStart>();
  readonly #ends = new Set<ExecutionId>();

  /** It started, and may run. */
  started(start: UnstoredStart): void {
    this.#starts.set(start.execution, start);
  }

  /** These are over. */
  ended(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      this.#starts.delete(execution);
      this.#ends.add(execution);
    }
  }

  /** All that started, in the order in which that was found out. */
  starts(): readonly UnstoredStart[] {
    return [...this.#starts.values()];
  }

  /** All that are over. */
  ends(): readonly ExecutionId[] {
    return [...this.#ends];
  }

  hasEnded(execution: ExecutionId): boolean {
    return this.#ends.has(execution);
  }

  /** Those of these whose start is to be stored before their end can be, and when it was, where that is known. */
  among(
    executions: readonly Pick<KnownStart, 'execution'>[],
  ): readonly (KnownStart & Partial<Pick<UnstoredStart, 'startedAt'>>)[] {
    return executions.flatMap(({ execution }) => {
      const start = this.#starts.get(execution);
      if (start !== undefined) return [start];
      return this.#ends.has(execution) ? [{ execution, shim: `none-${execution}` }] : [];
    });
  }

  /** They are stored, or nobody wants them any more. */
  forget(executions: Iterable<ExecutionId>): void {
    for (const execution of executions) {
      this.#starts.delete(execution);
      this.#ends.delete(execution);
    }
  }
}
