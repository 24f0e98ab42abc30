/** What waits to be started: its order, what of it starts at once, and what an admin has to be asked about before. */
import type { Delivery } from '../../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import type { ExecutorOptions, Start } from '../executor-options.ts';
import type { ExecShim } from '../exec-shim/exec-shims.ts';
import { StartGate } from './start-gate.ts';
import type { StartPlan } from './start-plan.ts';

/** How its starts are prepared. */
export interface WaitingPorts {
  /** An exec shim with the script; null: none can be had now. */
  readonly prepare: (commandText: string) => ExecShim | null;
  readonly dismiss: (shim: ExecShim) => void;
}

/** In the order of receipt. The journal holds what is started from it. */
export class WaitingQueue {
  readonly #options: Pick<ExecutorOptions, 'journal' | 'timeline' | 'onHeld'>;
  readonly #ports: WaitingPorts;
  readonly #gate: StartGate;
  readonly #queue = new Set<ExecutionId>();
  /** Recorded as started in the transaction that took them in; `run` follows at once. */
  readonly #planned = new Map<ExecutionId, Start>();
  /** When what arrives now was sent at the earliest. */
  #bornMs: number | null = null;

  constructor(options: Pick<ExecutorOptions, 'journal' | 'timeline' | 'onHeld'>, ports: WaitingPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#gate = new StartGate(() => options.timeline.aliveMs());
  }

  get size(): number {
    return this.#queue.size;
  }

  /** Recorded as started, and not begun. */
  get planned(): number {
    return this.#planned.size;
  }

  has(execution: ExecutionId): boolean {
    return this.#queue.has(execution);
  }

  add(execution: ExecutionId): void {
    this.#queue.add(execution);
  }

  /** It begins, or is over. */
  remove(execution: ExecutionId): void {
    this.#queue.delete(execution);
    this.#gate.forget(execution);
  }

  clear(): void {
    this.#queue.clear();
  }

  /** The start of one that was planned: once. */
  takePlanned(execution: ExecutionId): Start | null {
    const start = this.#planned.get(execution) ?? null;
    this.#planned.delete(execution);
    return start;
  }

  /** Notes that the agent lives. */
  beat(): void {
    if (this.#gate.beat()) this.hold();
  }

  arriving(bornMs: number): void {
    if (this.#gate.look()) this.hold();
    this.#bornMs = bornMs;
  }

  /** Nothing that waits starts before an admin was asked. */
  hold(): void {
    this.#gate.hold(this.#queue);
    if (this.#queue.size > 0) this.#options.onHeld?.();
  }

  /** These start only when an admin was asked. */
  ask(executions: readonly ExecutionId[]): void {
    this.#gate.hold(executions);
  }

  /** Has an admin asked, if one of these waits for that. */
  sayHeld(executions: readonly ExecutionId[]): void {
    if (executions.some((execution) => this.#gate.isHeld(execution))) this.#options.onHeld?.();
  }

  held(): ReadonlyMap<ExecutionId, number> {
    return this.#gate.held();
  }

  /** What an admin said that was asked at `askedMs`. False: it is not believed. */
  release(
    open: readonly { readonly execution: ExecutionId; readonly expiresInMs: number | null | undefined }[],
    askedMs: number,
  ): boolean {
    if (this.#gate.look()) {
      this.hold(); // it stood still since: what this says may be old
      return false;
    }
    for (const { execution, expiresInMs } of open) this.#gate.release(execution, askedMs, expiresInMs);
    return true;
  }

  /**
   * Chooses which of new executions start at once, so that their receipt and their start share a transaction, and its
   * fsync. `free`: how many more may run.
   */
  plan(fresh: readonly Delivery[], free: number): StartPlan {
    const starts = new Map<ExecutionId, Start>();
    const bornMs = this.#bornMs ?? this.#options.timeline.aliveMs();
    for (const { execution, expires_in_ms: expiresInMs } of fresh) this.#gate.arrived(execution, bornMs, expiresInMs);
    const room = this.#queue.size > 0 || !this.#gate.isCurrent(bornMs) ? 0 : free;
    for (const delivery of fresh.slice(0, room)) {
      const waiting = {
        execution: delivery.execution,
        commandText: delivery.command_text,
        timeoutMs: delivery.timeout_ms,
        isExpired: false,
        traceparent: delivery.traceparent ?? null,
      };
      const shim = this.#gate.isOver(delivery.execution) ? null : this.#ports.prepare(waiting.commandText);
      if (shim === null) break; // the rest waits behind it
      starts.set(delivery.execution, { waiting, shim });
    }
    return {
      shims: new Map([...starts].map(([execution, { shim }]) => [execution, shim.name])),
      stored: () => {
        for (const [execution, start] of starts) this.#planned.set(execution, start);
      },
      refused: () => {
        for (const { shim } of starts.values()) this.#ports.dismiss(shim);
        for (const { execution } of fresh) this.#gate.forget(execution);
      },
    };
  }

  /** As many as `room` allows, each with its exec shim and its script on the disk. They stay here until they begin. */
  take(room: () => number): readonly Start[] {
    if (this.#gate.look()) this.hold();
    const batch: Start[] = [];
    const over: ExecutionId[] = [];
    for (const execution of this.#queue) {
      if (batch.length >= room()) break;
      if (this.#gate.isOver(execution)) {
        if (!this.#gate.isHeld(execution)) over.push(execution);
        if (this.#gate.isOverForSure(execution)) continue;
        break; // it may have come in time: those behind it wait for what an admin says of it
      }
      if (this.#gate.isHeld(execution)) break; // those behind it wait as well: executions start in their order
      const waiting = this.#options.journal.load(execution);
      if (waiting === null || (waiting.isExpired && !this.#gate.knows(execution))) {
        this.remove(execution); // the admin expires it too and says settle
        continue;
      }
      const shim = this.#ports.prepare(waiting.commandText);
      if (shim === null) break; // it is tried again
      batch.push({ waiting, shim });
    }
    this.#gate.hold(over); // as far as is known here: an admin knows better
    if (over.length > 0) this.#options.onHeld?.();
    return batch;
  }
}
