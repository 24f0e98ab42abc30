/** Executions as the database has them: what its guards let through, and what they refuse. */
import type { OpenExecution } from '../../../../actors/records.ts';
import { isTerminal, type ExecutionStatus } from '../../../../actors/resources/command.ts';
import type { Change } from '../../../../actors/step.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { execution, NOW_MS, open } from '../../../support/actors.ts';

/** The only edges of an execution. Source: docs/promises.md, C6. */
const EDGES: Readonly<Record<string, readonly string[]>> = {
  pending: ['sent', 'completed', 'cancelled', 'expired', 'dropped'],
  sent: ['completed', 'cancelled', 'expired', 'dropped'],
};

/** One of them. */
export interface ExecutionRow {
  readonly number: number;
  status: ExecutionStatus;
  cancelRequested: boolean;
}

/** All that were created, and the events that were stored with their changes. */
export class ExecutionRows {
  readonly all = new Map<ExecutionId, ExecutionRow>();
  readonly events: string[] = [];

  /** Stores so many, pending. */
  create(count: number): OpenExecution[] {
    return Array.from({ length: count }, () => {
      const number = this.all.size + 1;
      this.all.set(execution(number), { number, status: 'pending', cancelRequested: false });
      return open(number);
    });
  }

  /** One of those that were created, over or not. */
  pick(number: number): ExecutionId | undefined {
    return this.all.size === 0 ? undefined : execution(1 + (number % this.all.size));
  }

  /** The same, unless it is over. */
  pickOpen(number: number): readonly [ExecutionId, ExecutionRow] | null {
    const id = this.pick(number);
    const row = id === undefined ? undefined : this.all.get(id);
    return id === undefined || row === undefined || isTerminal(row.status) ? null : [id, row];
  }

  /** Those that are not over, as the loader reads them. */
  open(wanted: (id: ExecutionId) => boolean = () => true): OpenExecution[] {
    return [...this.all]
      .filter(([id, row]) => !isTerminal(row.status) && wanted(id))
      .map(([, row]) =>
        open(row.number, row.status as 'pending' | 'sent', {
          cancelRequestedAtMs: row.cancelRequested ? NOW_MS : null,
        }),
      );
  }

  /** False when its guard finds the row in another state. An edge that does not exist is an error. */
  store({ write, events }: Change): boolean {
    if (!('execution' in write)) return true;
    const row = this.all.get(write.execution);
    if (row === undefined || isTerminal(row.status) || (write.kind === 'execution-sent' && row.status !== 'pending'))
      return false;
    if (write.kind === 'execution-cancel-requested') row.cancelRequested = true;
    const next =
      write.kind === 'execution-sent' ? 'sent' : write.kind === 'execution-finished' ? write.status : row.status;
    if (next !== row.status && !EDGES[row.status]?.includes(next)) throw new Error(`from ${row.status} to ${next}`);
    row.status = next;
    this.events.push(...events.map((event) => `${event.subject} ${event.type}`));
    return true;
  }
}
