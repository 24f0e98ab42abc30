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
import { isStartLockMade } from '../exec-shim/start-lock.ts';
import { RETRY_MS } from '../look-times.ts';
import { logStart, processTraceparent } from '../process-trace.ts';
import { RunningExecution } from '../running-execution.ts';
import type { Log } from '../../../transport/net/log.ts';

/**
 * An execution whose exec shim made no start lock waits for RETRY_MS before it is started again, and twice as long each
 * time that one begun since makes none either, up to this, in ms.
 */
export const START_LOCK_WAIT_MS_MAX = 30_000;

const NO_START_LOCK = 'an exec shim could not make its start lock';

/** What is looked at of one that runs. */
type Watched = Pick<RunningExecution, 'ageMs' | 'directory' | 'isUnstarted'>;

/** Remembers why nothing can be started, while that is so, and when a look tries it again. */
export class StartKit {
  readonly #shims: ExecShims;
  readonly #log: Log;
  readonly #nowMs: () => number;
  #problem: string | null = null;
  #againMs = -Infinity;
  /** Since when it is known that no start lock can be made, and what waits for how long for that; null: they can. */
  #lockless: { readonly sinceMs: number; readonly waitMs: number } | null = null;

  /** `nowMs` is monotonic. */
  constructor(shims: ExecShims, log: Log, nowMs: () => number) {
    this.#shims = shims;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Null when executions can be started; else one sentence. */
  get problem(): string | null {
    return this.#problem ?? (this.#lockless === null ? null : `commands cannot be started: ${NO_START_LOCK}`);
  }

  /**
   * False within RETRY_MS of a look's start that failed or was refused, or within the wait for a start lock: until then
   * no look tries one.
   */
  get isDue(): boolean {
    return this.#nowMs() >= this.#againMs;
  }

  /** Nothing waits: nothing is kept from starting, unless one of these is about to find out. */
  idle(running: Iterable<Watched>): void {
    this.#problem = null;
    if ([...running].some((one) => one.isUnstarted || this.#isNews(one))) return;
    this.#lockless = null;
    this.#againMs = -Infinity;
  }

  /** It was looked at, and has or had its start lock, or not. */
  looked(running: Watched): void {
    if (this.#lockless === null || !this.#isNews(running) || !isStartLockMade(running.directory)) return;
    this.#lockless = null;
    this.#againMs = -Infinity;
    if (this.#problem === null) this.#log.info({}, 'Commands can be started again');
  }

  /** Its exec shim ended without a start lock, which `problem` says. Returns the age at which it may be tried again. */
  withoutStartLock(running: Watched & Pick<RunningExecution, 'execution'>): number {
    if (this.problem === null)
      this.#log.error(
        { execution: running.execution },
        `Commands cannot be started: ${NO_START_LOCK}. They wait until they can`,
      );
    if (this.#lockless === null || this.#isNews(running)) {
      const nowMs = this.#nowMs();
      const waitMs = this.#lockless === null ? RETRY_MS : Math.min(2 * this.#lockless.waitMs, START_LOCK_WAIT_MS_MAX);
      this.#lockless = { sinceMs: nowMs, waitMs };
      this.#againMs = Math.max(this.#againMs, nowMs + waitMs);
    }
    return this.#lockless.waitMs;
  }

  /** Whether it began since the last one failed to make its start lock. */
  #isNews({ ageMs }: Watched): boolean {
    return this.#lockless === null || this.#nowMs() - ageMs > this.#lockless.sinceMs;
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
      if (this.#problem !== null && this.#lockless === null) this.#log.info({}, 'Commands can be started again');
      this.#problem = null;
      return shim;
    } catch (error) {
      if (shim !== null) this.#shims.dismiss(shim);
      const problem = `commands cannot be started: ${(error as Error).message}`;
      if (this.problem === null)
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
