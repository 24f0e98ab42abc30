/** The journal of a session without a disk. */
import { pieceOf } from '../../../agent/execution/output/output-text.ts';
import type { Finished, SessionJournal } from '../../../agent/session/ports.ts';
import type { Delivery } from '../../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';

/** Keeps everything in maps. Refuses to store while `isFull`. */
export class MemoryJournal implements SessionJournal {
  readonly held = new Map<ExecutionId, (Finished & { readonly output: Buffer }) | null>();
  isFull = false;

  holding(): readonly ExecutionId[] {
    return [...this.held.keys()];
  }

  receive(deliveries: readonly Delivery[]) {
    const ids = deliveries.map((each) => each.execution);
    const known = ids.filter((execution) => this.held.has(execution));
    const fresh = this.isFull ? [] : ids.filter((execution) => !this.held.has(execution));
    for (const execution of fresh) this.held.set(execution, null);
    return { acknowledged: [...known, ...fresh], fresh };
  }

  recall(executions: readonly ExecutionId[]) {
    const ended = this.isFull ? [] : executions.filter((execution) => !this.held.has(execution));
    for (const execution of ended) this.finish(execution);
    return ended;
  }

  finish(execution: ExecutionId, text = ''): void {
    const output = Buffer.from(text);
    this.held.set(execution, {
      outcome: 'completed',
      exitCode: 0,
      outputTruncated: false,
      outputBytes: output.length,
      output,
    });
  }

  finished(): readonly ExecutionId[] {
    return [...this.held].filter(([, result]) => result !== null).map(([execution]) => execution);
  }

  result(execution: ExecutionId): Finished | null {
    return this.held.get(execution) ?? null;
  }

  output(execution: ExecutionId, offset: number, bytesMax: number) {
    const result = this.held.get(execution);
    if (result === null || result === undefined) return null;
    return pieceOf(result.output.subarray(offset, offset + bytesMax + 4), offset, bytesMax);
  }

  forget(executions: readonly ExecutionId[]): void {
    for (const execution of executions) this.held.delete(execution);
  }

  heal(): boolean {
    return !this.isFull;
  }
}
