/**
 * What must not start before an admin was asked (C8): whatever waited while this machine stood still, while no agent
 * ran, or while admins did not know the node, may have expired or been cancelled since. Durations count on a clock that
 * runs while the machine is suspended.
 */
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { SESSION_SILENCE_MS_MAX } from '../../../transport/protocol/limits.ts';

/** The agent notes that it lives this often, in ms. */
export const BEAT_MS = 1_000;

/**
 * Between two beats more than this means that the agent stood still, in ms: twice the beat, so that a busy machine is
 * not often taken for one.
 */
export const STALL_MS_MIN = 2_000;

/** Between which times it expires: it came with how long it may take, counted from when it was sent. */
interface Deadline {
  readonly earliestMs: number;
  readonly latestMs: number;
}

/** All times are those of `nowMs`, in ms. */
export class StartGate {
  readonly #nowMs: () => number;
  /** What must be asked about, and since when. */
  readonly #held = new Map<ExecutionId, number>();
  /** When those that wait expire; null: never. */
  readonly #deadlines = new Map<ExecutionId, Deadline | null>();
  /** Last sign of life; null until the first: then nothing is concluded from its absence. */
  #beatMs: number | null = null;
  #wokeMs = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Notes that the agent lives. True: it stood still since the last time, or the clock went back, as where a container
   * has two of them: then no time of before says anything.
   */
  beat(): boolean {
    const nowMs = this.#nowMs();
    const isBack = this.#beatMs !== null && nowMs < this.#beatMs;
    const hasStood = isBack || (this.#beatMs !== null && nowMs - this.#beatMs > STALL_MS_MIN);
    this.#beatMs = nowMs;
    if (hasStood) this.#wokeMs = nowMs;
    if (isBack) this.hold([...this.#held.keys()]);
    return hasStood;
  }

  /** As `beat`, where somebody beats. */
  look(): boolean {
    return this.#beatMs !== null && this.beat();
  }

  /** Whether what was sent at `bornMs` or later can be believed without asking. */
  isCurrent(bornMs: number): boolean {
    const nowMs = this.#nowMs();
    return bornMs >= this.#wokeMs && bornMs <= nowMs && nowMs - bornMs <= SESSION_SILENCE_MS_MAX;
  }

  /** It arrived, and was sent at `bornMs` or later. */
  arrived(execution: ExecutionId, bornMs: number, expiresInMs: number | null): void {
    this.#expires(execution, bornMs, expiresInMs);
    if (!this.isCurrent(bornMs)) this.hold([execution]);
  }

  /** These must be asked about: answers to earlier questions do not count. */
  hold(executions: Iterable<ExecutionId>): void {
    const nowMs = this.#nowMs();
    for (const execution of executions) this.#held.set(execution, nowMs);
  }

  /** What must be asked about, and since when it last must. What is held anew keeps its place in the order. */
  held(): ReadonlyMap<ExecutionId, number> {
    return this.#held;
  }

  /**
   * An admin that was asked at `askedMs` said that it may start for so long, counted from the question; `undefined`: it
   * cannot say.
   */
  release(execution: ExecutionId, askedMs: number, expiresInMs: number | null | undefined): void {
    const heldMs = this.#held.get(execution);
    if (heldMs === undefined || askedMs < heldMs || askedMs > this.#nowMs()) return;
    if (expiresInMs !== undefined) this.#expires(execution, askedMs, expiresInMs);
    if (this.isOver(execution)) return; // the admin says settle in a moment
    this.#held.delete(execution);
  }

  isHeld(execution: ExecutionId): boolean {
    return this.#held.has(execution);
  }

  /** Whether its time may be over: an admin knows better. */
  isOver(execution: ExecutionId): boolean {
    const deadline = this.#deadlines.get(execution) ?? null;
    return deadline !== null && this.#nowMs() >= deadline.earliestMs;
  }

  /** Whether its time is over, however late it was sent. */
  isOverForSure(execution: ExecutionId): boolean {
    const deadline = this.#deadlines.get(execution) ?? null;
    return deadline !== null && this.#nowMs() >= deadline.latestMs;
  }

  /** Whether it is known when it expires. */
  knows(execution: ExecutionId): boolean {
    return this.#deadlines.has(execution);
  }

  /** Said just now, and sent at `sentMs` or later. */
  #expires(execution: ExecutionId, sentMs: number, expiresInMs: number | null): void {
    const deadline =
      expiresInMs === null ? null : { earliestMs: sentMs + expiresInMs, latestMs: this.#nowMs() + expiresInMs };
    this.#deadlines.set(execution, deadline);
  }

  /** It started, or is over. */
  forget(execution: ExecutionId): void {
    this.#held.delete(execution);
    this.#deadlines.delete(execution);
  }
}
