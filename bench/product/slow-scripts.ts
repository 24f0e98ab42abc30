/**
 * Scripts of simulated agents that take their time, `sleep SECONDS`: what they print is there at their end, and not
 * before.
 */
import type { OutputCursor } from '../../agent/session/ports.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { nowMs } from '../method/clock.ts';

/** Those of one agent. */
export class SlowScripts {
  /** When the last one of all agents ended, in Unix ms. */
  static lastEndMs = 0;
  readonly #output: string;
  readonly #seconds = new Map<ExecutionId, number>();
  readonly #running = new Map<ExecutionId, Set<() => void>>();

  constructor(output: string) {
    this.#output = output;
  }

  /** What an execution is to run. */
  received(execution: ExecutionId, text: string): void {
    const seconds = /^sleep (?<seconds>[\d.]+)$/u.exec(text)?.groups?.['seconds'];
    if (seconds !== undefined) this.#seconds.set(execution, Number(seconds));
  }

  /** False: it is none of these, and over at once. */
  run(execution: ExecutionId, ended: () => void): boolean {
    const seconds = this.#seconds.get(execution);
    if (seconds === undefined) return false;
    const waiting = new Set<() => void>();
    this.#running.set(execution, waiting);
    setTimeout(() => {
      this.#running.delete(execution);
      SlowScripts.lastEndMs = nowMs();
      for (const wake of waiting) wake();
      ended();
    }, seconds * 1_000);
    return true;
  }

  /** It was stored what became of it. */
  settled(execution: ExecutionId): void {
    this.#seconds.delete(execution);
  }

  /** Null: it is none of these. */
  tail(execution: ExecutionId, from: number, wake: () => void): OutputCursor | null {
    if (!this.#seconds.has(execution)) return null;
    const [running, output] = [this.#running, this.#output];
    const waiting = running.get(execution);
    waiting?.add(wake);
    let offset = from;
    return {
      read() {
        if (running.has(execution) || offset >= output.length) return null;
        const piece = { offset, text: output.slice(offset) };
        offset = output.length;
        return piece;
      },
      get ended() {
        return !running.has(execution);
      },
      get offset() {
        return offset;
      },
      close: () => void waiting?.delete(wake),
    };
  }
}
