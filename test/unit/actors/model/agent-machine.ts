/** The machine of an agent: its journal, and the processes that run there. */
import type { ExecutionResult } from '../../../../transport/protocol/execution-result.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';

type Journalled = 'received' | 'running' | 'finished';

/** A machine with an empty disk. */
export class AgentMachine {
  /**
   * How often the process of an execution was started, since the machine last lost its journal or it was acknowledged.
   */
  readonly starts = new Map<ExecutionId, number>();
  #journal = new Map<ExecutionId, { state: Journalled; result: ExecutionResult | null }>();

  get holding(): readonly ExecutionId[] {
    return [...this.#journal.keys()];
  }

  /** Nothing waits and nothing runs. */
  get isIdle(): boolean {
    return [...this.#journal.values()].every((entry) => entry.state === 'finished');
  }

  /** Results that were not confirmed. */
  get results(): readonly ExecutionResult[] {
    return [...this.#journal.values()].flatMap(({ result }) => result ?? []);
  }

  receive(executions: readonly ExecutionId[]): void {
    for (const id of executions) if (!this.#journal.has(id)) this.#journal.set(id, { state: 'received', result: null });
  }

  confirmed(executions: readonly ExecutionId[]): void {
    for (const id of executions) if (this.#journal.get(id)?.state === 'finished') this.#journal.delete(id);
  }

  settle(executions: readonly ExecutionId[]): void {
    for (const id of executions) this.#journal.delete(id);
  }

  cancel(executions: readonly ExecutionId[]): void {
    for (const id of executions)
      if (this.#journal.has(id) && this.#journal.get(id)?.state !== 'finished') this.#finish(id, 'cancelled', 143);
  }

  /** Starts the oldest that waits. */
  start(): void {
    const found = [...this.#journal].find(([, entry]) => entry.state === 'received');
    if (found === undefined) return;
    const [id, entry] = found;
    this.starts.set(id, (this.starts.get(id) ?? 0) + 1);
    entry.state = 'running';
  }

  /** A process ends. */
  end(): void {
    const found = [...this.#journal].find(([, entry]) => entry.state === 'running');
    if (found !== undefined) this.#finish(found[0], 'completed', 0);
  }

  /** What ran is over, the journal stays. */
  reboot(): void {
    for (const [id, entry] of this.#journal) if (entry.state === 'running') this.#finish(id, 'cancelled', 137);
  }

  /** The disk is lost. What was not acknowledged, as `isPending` says, may be delivered and started anew. */
  lose(isPending: (id: ExecutionId) => boolean): void {
    for (const id of this.#journal.keys()) if (isPending(id)) this.starts.delete(id);
    this.#journal = new Map();
  }

  #finish(id: ExecutionId, outcome: ExecutionResult['outcome'], exitCode: number): void {
    const result = { execution: id, output: '', parts: 0, output_truncated: false, outcome, exit_code: exitCode };
    this.#journal.set(id, { state: 'finished', result });
  }
}
