/**
 * What came of a stream and is handed on piece by piece, so that what one peer sends in one go does not hold up the
 * others (L1). How much goes at once decides whoever the pieces are for.
 */
import { startTimer } from './timer.ts';

/** Bytes that are handed on in one go, and what they cost, in whatever the one counts who decides. */
export interface Piece {
  readonly bytes: Buffer;
  readonly cost: number;
}

/** Of pieces that wait in a row: how many go now, and how long the next one waits, in ms; 0: all go. */
export interface Passing {
  readonly count: number;
  readonly waitMs: number;
}

/** Who decides. */
export interface Intake {
  /** Counts what came. Answers the pieces of it, which joined are the same bytes; null: this was too much. */
  take(chunk: Buffer): readonly Piece[] | null;
  /** Which of the pieces that wait go now. They are counted as gone. */
  pass(waiting: readonly Piece[]): Passing;
}

/** Nothing is counted, and nothing waits. */
export const AT_ONCE: Intake = {
  take: (bytes) => [{ bytes, cost: 0 }],
  pass: (waiting) => ({ count: waiting.length, waitMs: 0 }),
};

/** Calls back once; the function that it answers cancels. */
export type After = (ms: number, run: () => void) => () => void;

/** The pieces of one stream that wait, in order. */
export class PacedPieces {
  readonly #intake: Intake;
  readonly #handOn: (bytes: Buffer) => void;
  readonly #after: After;
  #waiting: Piece[] = [];
  #bytes = 0;
  #cancel: (() => void) | null = null;
  #done: (() => void) | null = null;
  #isStopped = false;

  constructor(intake: Intake, handOn: (bytes: Buffer) => void, after: After = afterTurn) {
    this.#intake = intake;
    this.#handOn = handOn;
    this.#after = after;
  }

  /** Bytes that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Hands on what may go now, and the rest later. False: it was too much, and nothing of it was taken. */
  add(chunk: Buffer): boolean {
    const pieces = this.#intake.take(chunk);
    if (pieces === null) return false;
    for (const piece of pieces) this.#waiting.push(piece);
    this.#bytes += chunk.length;
    if (this.#cancel === null) this.#go();
    return true;
  }

  /** Nothing more comes: calls back once all that waits was handed on. */
  end(done: () => void): void {
    if (this.#waiting.length === 0) done();
    else this.#done = done;
  }

  /** Forgets what waits. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
    [this.#waiting, this.#bytes, this.#done] = [[], 0, null];
  }

  #go(): void {
    this.#cancel = null;
    const { count, waitMs } = this.#intake.pass(this.#waiting);
    for (const { bytes } of this.#waiting.splice(0, count)) {
      if (this.#isStopped) return; // by what came before it
      this.#bytes -= bytes.length;
      this.#handOn(bytes);
    }
    if (waitMs > 0 && !this.#isStopped) this.#cancel = this.#after(waitMs, () => this.#go());
    if (this.#waiting.length === 0) this.#done?.();
  }
}

/** Never without a turn of the event loop between: timers that are late run one after the other. */
function afterTurn(ms: number, run: () => void): () => void {
  let turn: NodeJS.Immediate | undefined;
  const cancel = startTimer(ms, () => {
    turn = setImmediate(run);
  });
  return () => {
    cancel();
    clearImmediate(turn);
  };
}
