/**
 * Calls of other admins that are under way here, and the answers of the last seconds: a call that comes again, because
 * its answer was lost, is not done again.
 */
import { encodeAnswer } from './protocol/call.ts';

/** How much is kept of one process. */
export interface AnswersKept {
  readonly answersMax: number;
  readonly ms: number;
  /** Of one answer, and of all of them. */
  readonly answerBytesMax: number;
  readonly bytesMax: number;
}

/** An answer as it is written. */
export interface WrittenAnswer {
  readonly bytes: Buffer;
  /** Something may have been done. Else the call may be done anew. */
  readonly isFinal: boolean;
}

/** `bytes` null: it was too large to be kept. */
interface Kept {
  readonly bytes: Buffer | null;
  readonly atMs: number;
}

/** Those of one process, the oldest first. */
class AnswersTo {
  readonly underWay = new Map<string, Promise<WrittenAnswer>>();
  readonly kept = new Map<string, Kept>();
  bytes = 0;
  /** When one was last forgotten before its time: what is not known since then may have been done. */
  forgottenEarlyAtMs = -Infinity;
}

/** Nothing at first. Time is monotonic. */
export class RecentAnswers {
  readonly #limits: AnswersKept;
  readonly #nowMs: () => number;
  readonly #by = new Map<string, AnswersTo>();

  constructor(limits: AnswersKept, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** How many calls of a process are under way. */
  underWay(instance: string): number {
    return this.#by.get(instance)?.underWay.size ?? 0;
  }

  /**
   * Does a call of a process, unless it was begun before: then what came of it, or `in_doubt` where that is forgotten.
   * `isRepeat`: it is not the first try. `run` must not throw.
   */
  async once(instance: string, id: string, isRepeat: boolean, run: () => Promise<WrittenAnswer>): Promise<Buffer> {
    const to = this.#by.get(instance) ?? new AnswersTo();
    this.#by.set(instance, to);
    this.#forgetOld(to);
    const underWay = to.underWay.get(id);
    if (underWay !== undefined) return (await underWay).bytes;
    const known = to.kept.get(id);
    if (known !== undefined) return known.bytes ?? IN_DOUBT;
    if (isRepeat && this.#nowMs() - to.forgottenEarlyAtMs < this.#limits.ms) return IN_DOUBT;
    const running = run();
    to.underWay.set(id, running);
    const { bytes, isFinal } = await running;
    to.underWay.delete(id);
    if (isFinal) this.#keep(to, id, bytes);
    return bytes;
  }

  /** Forgets what is old, and processes of which nothing is left. */
  sweep(): void {
    for (const [instance, to] of this.#by) {
      this.#forgetOld(to);
      if (to.kept.size === 0 && to.underWay.size === 0) this.#by.delete(instance);
    }
  }

  /** Answers that are kept, and their bytes. */
  size(): { readonly answers: number; readonly bytes: number } {
    const all = [...this.#by.values()];
    return {
      answers: all.reduce((sum, { kept }) => sum + kept.size, 0),
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  #keep(to: AnswersTo, id: string, bytes: Buffer): void {
    const { answersMax, answerBytesMax, bytesMax } = this.#limits;
    const kept = bytes.byteLength <= answerBytesMax ? bytes : null;
    to.kept.set(id, { bytes: kept, atMs: this.#nowMs() });
    to.bytes += kept?.byteLength ?? 0;
    for (const [oldest, one] of to.kept) {
      if (to.kept.size <= answersMax && to.bytes <= bytesMax) break;
      forget(to, oldest, one);
      to.forgottenEarlyAtMs = this.#nowMs();
    }
  }

  #forgetOld(to: AnswersTo): void {
    const beforeMs = this.#nowMs() - this.#limits.ms;
    for (const [id, one] of to.kept) {
      if (one.atMs > beforeMs) return;
      forget(to, id, one);
    }
  }
}

function forget(to: AnswersTo, id: string, { bytes }: Kept): void {
  to.kept.delete(id);
  to.bytes -= bytes?.byteLength ?? 0;
}

const IN_DOUBT = encodeAnswer({ type: 'in_doubt' });
