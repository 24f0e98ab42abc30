/** The executions that run: their processes are looked at, and their output is shown to whoever watches it. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { OutputCursor } from '../session/ports.ts';
import { nextLookMs } from './look-times.ts';
import { WatchedOutputs } from './output/watched-outputs.ts';
import { isOutOfFiles } from '../problem.ts';
import { listProcesses, type ProcessEntry } from './processes.ts';
import type { RunningExecution } from './running-execution.ts';

/** Processes that a note names, at most. */
const NAMED_PIDS_MAX = 10;

/** Who is told what was seen. */
export interface RunningPorts {
  /** It has ended, and its end is on its way into the journal: it is not looked at any more. */
  readonly isEnding: (execution: ExecutionId) => boolean;
  /** Its processes are gone. May throw, as `check` does, while no file can be opened: it is called again. */
  readonly over: (running: RunningExecution) => void;
  /** It goes on, and has to be looked at again. */
  readonly goesOn: (running: RunningExecution) => void;
  /** It cannot be ended: these processes of it live on after KILL. Said once. */
  readonly stuck: (running: RunningExecution) => void;
  /** It was removed, and nobody reads in its directory any more. */
  readonly unread: (execution: ExecutionId, directory: string) => void;
}

/** Those of one executor. */
export class RunningExecutions {
  readonly #running = new Map<ExecutionId, RunningExecution>();
  /** Of those, what was said to be stuck. */
  readonly #stuck = new Set<ExecutionId>();
  readonly #watched: WatchedOutputs;
  readonly #ports: RunningPorts;

  constructor(ports: RunningPorts) {
    this.#ports = ports;
    this.#watched = new WatchedOutputs(ports.unread);
  }

  get size(): number {
    return this.#running.size;
  }

  /** Null while all that are to end do; else one sentence. */
  get note(): string | null {
    const stuck = [...this.#running.values()].filter((running) => running.stuck.length > 0);
    if (stuck.length === 0) return null;
    const pids = stuck.flatMap((running) => running.stuck);
    const named = pids.slice(0, NAMED_PIDS_MAX).join(', ');
    return `executions that cannot be ended: ${stuck.length}; processes that live on after KILL: ${named}${pids.length > NAMED_PIDS_MAX ? ', …' : ''}`;
  }

  values(): Iterable<RunningExecution> {
    return this.#running.values();
  }

  get(execution: ExecutionId): RunningExecution | undefined {
    return this.#running.get(execution);
  }

  add(running: RunningExecution): void {
    this.#running.set(running.execution, running);
    this.#watched.started(running.execution, running.captured);
  }

  /** It is over, whether it ran or not. Its directory, if it had one, goes as soon as nobody reads in it. */
  remove(execution: ExecutionId): void {
    const directory = this.#running.get(execution)?.directory ?? null;
    this.#running.delete(execution);
    this.#stuck.delete(execution);
    this.#watched.ended(execution, directory);
  }

  /** It did not begin, and is to begin later: whoever watches its output goes on. */
  withdraw(execution: ExecutionId): void {
    this.#running.delete(execution);
  }

  /** Lets go of all as they are. */
  clear(): void {
    this.#running.clear();
  }

  /** Ends all as cancelled. */
  cancelAll(): void {
    for (const running of this.#running.values()) running.stop('cancel');
  }

  /** A cursor from byte `offset` on, of one that runs or is to run. */
  watch(execution: ExecutionId, offset: number, wake: () => void): OutputCursor {
    return this.#watched.open(execution, offset, wake, this.#running.get(execution)?.captured ?? null);
  }

  /** Looks at all of them, by one listing of the machine's processes, and at what is watched. */
  lookAtAll(): void {
    let listed: ProcessEntry[] | null = null;
    const processes = () => (listed ??= listProcesses());
    for (const running of this.#running.values()) this.look(running, processes);
    this.#watched.look();
  }

  /** Looks at one, unless it is none of these any more. */
  look(running: RunningExecution, processes: () => readonly ProcessEntry[] = listProcesses): void {
    if (this.#running.get(running.execution) !== running || this.#ports.isEnding(running.execution)) return;
    try {
      if (running.check(processes)) return this.#ports.over(running);
    } catch (error) {
      if (!isOutOfFiles(error)) throw error; // else nobody knows how it is: it is looked at again
    }
    if (running.stuck.length > 0 && !this.#stuck.has(running.execution)) {
      this.#stuck.add(running.execution);
      this.#ports.stuck(running);
    }
    this.#ports.goesOn(running);
  }

  /**
   * When they are to be looked at again, in so many ms; null: not at all. `hasWork`: something else waits for a look.
   */
  nextLookMs(hasWork: boolean, nowMs: number): number | null {
    return nextLookMs(this.#running.values(), { isWatched: this.#watched.isWatched, hasWork, nowMs });
  }
}
