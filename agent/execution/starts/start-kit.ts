/**
 * Gets exec shims ready, each with its script on the disk, before its start is recorded; and then gives them their job.
 */
import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { ExecutorOptions, Start } from '../executor-options.ts';
import { interpreterOf } from '../exec-shim/interpreter.ts';
import { SHIM_FILES } from '../exec-shim/exec-shim-script.ts';
import { giveJob, type ExecShim, type ExecShims } from '../exec-shim/exec-shims.ts';
import { RETRY_MS } from '../look-times.ts';
import { logStart, processTraceparent } from '../process-trace.ts';
import { RunningExecution } from '../running-execution.ts';
import type { Log } from '../../../transport/net/log.ts';

/** Remembers why nothing can be started, while that is so, and when a look tries it again. */
export class StartKit {
  readonly #shims: ExecShims;
  readonly #log: Log;
  readonly #nowMs: () => number;
  #problem: string | null = null;
  #againMs = -Infinity;

  /** `nowMs` is monotonic. */
  constructor(shims: ExecShims, log: Log, nowMs: () => number) {
    this.#shims = shims;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Null when executions can be started; else one sentence. */
  get problem(): string | null {
    return this.#problem;
  }

  /** False within RETRY_MS of a look's start that failed or was refused: until then no look tries one. */
  get isDue(): boolean {
    return this.#nowMs() >= this.#againMs;
  }

  /** Nothing is kept from starting any more. */
  clear(): void {
    this.#problem = null;
    this.#againMs = -Infinity;
  }

  /** The journal did not record a start, for a problem of its own: each try takes an exec shim, and dismisses it. */
  refused(): void {
    this.#putOff();
  }

  /** Null: the system gives no process or no room now, which `problem` says. */
  prepare(commandText: string): ExecShim | null {
    let shim: ExecShim | null = null;
    try {
      shim = this.#shims.take();
      writeFileSync(join(shim.directory, SHIM_FILES.script), commandText, { flag: 'r+' });
      if (this.#problem !== null) this.#log.info({}, 'Commands can be started again');
      this.#problem = null;
      return shim;
    } catch (error) {
      if (shim !== null) this.#shims.dismiss(shim);
      const problem = `commands cannot be started: ${(error as Error).message}`;
      if (this.#problem === null)
        this.#log.error({}, `Commands cannot be started: ${(error as Error).message}. They wait until they can`);
      this.#putOff();
      this.#problem = problem;
      return null;
    }
  }

  #putOff(): void {
    if (this.isDue) this.#againMs = this.#nowMs() + RETRY_MS; // what arrives meanwhile is tried at once, and puts nothing off
  }
}

/**
 * Gives an exec shim the job whose start is recorded. `exited` is called when the exec shim, a child of this agent,
 * ended.
 */
export function begin(
  { waiting, shim }: Start,
  { timeline, outputBytesMax, log }: ExecutorOptions,
  exited: (running: RunningExecution) => void,
): RunningExecution {
  giveJob(shim, waiting.execution, interpreterOf(waiting.commandText), processTraceparent(waiting.traceparent));
  logStart(log, waiting.execution, waiting.traceparent);
  const running = new RunningExecution({
    execution: waiting.execution,
    shim: shim.name,
    directory: shim.directory,
    pid: shim.pid,
    outputBytesMax,
    traceparent: waiting.traceparent,
    deadlineMs: waiting.timeoutMs === null ? null : timeline.monotonicMs() + waiting.timeoutMs,
    bootId: timeline.bootId,
    nowMs: () => timeline.monotonicMs(),
  });
  const gone = (name: NodeJS.Signals | null) => {
    running.shimExited(name === null ? null : constants.signals[name]);
    exited(running);
  };
  const { child } = shim;
  child.ref(); // an idle exec shim does not hold the program open, a busy one does
  if (child.exitCode !== null || child.signalCode !== null) setImmediate(() => gone(child.signalCode));
  else child.once('exit', (_code, name) => gone(name));
  return running;
}
