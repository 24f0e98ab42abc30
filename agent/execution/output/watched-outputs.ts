/** Who watches which output of a waiting or running execution, and when its files may go. */
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import type { CapturedOutput } from './captured-output.ts';
import { LiveOutput } from './live-output.ts';
import type { OutputCursor } from '../../session/ports.ts';

/** The open cursors of one executor. */
export class WatchedOutputs {
  readonly #cursors = new Map<ExecutionId, Set<LiveOutput>>();
  /** Directories of ended executions whose output somebody still reads. */
  readonly #read = new Map<ExecutionId, string>();
  readonly #unread: (execution: ExecutionId, directory: string) => void;

  /** `unread`: nobody reads in the directory of that execution any more, which is over. */
  constructor(unread: (execution: ExecutionId, directory: string) => void) {
    this.#unread = unread;
  }

  /** True while somebody watches something. */
  get isWatched(): boolean {
    return this.#cursors.size > 0;
  }

  /** A cursor from byte `offset` on; `captured` is null until the execution starts. */
  open(execution: ExecutionId, offset: number, wake: () => void, captured: CapturedOutput | null): OutputCursor {
    const cursor = new LiveOutput(offset, wake, (self) => this.#close(execution, self));
    if (captured !== null) cursor.attach(captured);
    const cursors = this.#cursors.get(execution) ?? new Set();
    this.#cursors.set(execution, cursors.add(cursor));
    return cursor;
  }

  /** The execution started: its output is there. */
  started(execution: ExecutionId, captured: CapturedOutput): void {
    for (const cursor of this.#cursors.get(execution) ?? []) cursor.attach(captured);
  }

  /** Tells all watchers whose output has grown. */
  look(): void {
    for (const cursors of this.#cursors.values()) for (const cursor of cursors) cursor.look();
  }

  /** The execution is over. Its directory, if it had one, goes as soon as nobody reads in it. */
  ended(execution: ExecutionId, directory: string | null): void {
    if (directory !== null) this.#read.set(execution, directory);
    for (const cursor of this.#cursors.get(execution) ?? []) cursor.end();
    this.#remove(execution);
  }

  #close(execution: ExecutionId, cursor: LiveOutput): void {
    const cursors = this.#cursors.get(execution);
    cursors?.delete(cursor);
    if (cursors?.size === 0) this.#cursors.delete(execution);
    this.#remove(execution);
  }

  #remove(execution: ExecutionId): void {
    const directory = this.#read.get(execution);
    if (directory === undefined || this.#cursors.has(execution)) return;
    this.#read.delete(execution);
    this.#unread(execution, directory);
  }
}
