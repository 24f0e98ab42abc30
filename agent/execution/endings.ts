/** Ends on their way into the journal. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { Ending } from './execution.ts';
import type { Journal } from './journal/journal.ts';

/** Who is told what became of them. */
export interface EndingsPorts {
  readonly stored: (executions: readonly ExecutionId[]) => void;
  /** The journal refused them: they are kept, and tried again with the next `flushLater`. */
  readonly refused: () => void;
  /** Nothing is left to be stored. */
  readonly idle: () => void;
}

/** Ends of one turn of the event loop share a transaction. */
export class Endings {
  readonly #journal: Pick<Journal, 'finish'>;
  readonly #ports: EndingsPorts;
  #endings: Ending[] = [];
  #isFlushing = false;

  constructor(journal: Pick<Journal, 'finish'>, ports: EndingsPorts) {
    this.#journal = journal;
    this.#ports = ports;
  }

  /** Those that are not stored yet. */
  get size(): number {
    return this.#endings.length;
  }

  has(execution: ExecutionId): boolean {
    return this.#endings.some((ending) => ending.execution === execution);
  }

  add(ending: Ending): void {
    this.#endings.push(ending);
    this.flushLater();
  }

  /** Nobody wants these any more. */
  drop(executions: readonly ExecutionId[]): void {
    this.#endings = this.#endings.filter((ending) => !executions.includes(ending.execution));
  }

  clear(): void {
    this.#endings = [];
  }

  /** Stores those that there are, soon. */
  flushLater(): void {
    if (this.#isFlushing || this.#endings.length === 0) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    const endings = this.#endings;
    if (endings.length === 0) return this.#ports.idle();
    if (!this.#journal.finish(endings)) return this.#ports.refused();
    this.#endings = [];
    this.#ports.stored(endings.map((ending) => ending.execution));
  }
}
