/** Gets keepers ready, each with its script on the disk, before its start is recorded; and then gives them their job. */
import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { ExecutorOptions, Start } from './executor-options.ts';
import { interpreterOf } from './interpreter.ts';
import { KEEPER_FILES } from './keeper-script.ts';
import { giveJob, type Keeper, type Keepers } from './keepers.ts';
import { logStart, processTraceparent } from './process-trace.ts';
import { RunningExecution } from './running-execution.ts';
import type { Log } from '../../transport/net/log.ts';

/** Remembers why nothing can be started, while that is so. */
export class StartKit {
  readonly #keepers: Keepers;
  readonly #log: Log;
  #problem: string | null = null;

  constructor(keepers: Keepers, log: Log) {
    this.#keepers = keepers;
    this.#log = log;
  }

  /** Null when executions can be started; else one sentence. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Nothing is kept from starting any more. */
  clear(): void {
    this.#problem = null;
  }

  /** Null: the system gives no process or no room now, which `problem` says. */
  prepare(commandText: string): Keeper | null {
    let keeper: Keeper | null = null;
    try {
      keeper = this.#keepers.take();
      writeFileSync(join(keeper.directory, KEEPER_FILES.script), commandText, { flag: 'r+' });
      if (this.#problem !== null) this.#log.info({}, 'Commands can be started again');
      this.#problem = null;
      return keeper;
    } catch (error) {
      if (keeper !== null) this.#keepers.dismiss(keeper);
      const problem = `commands cannot be started: ${(error as Error).message}`;
      if (this.#problem === null)
        this.#log.error({}, `Commands cannot be started: ${(error as Error).message}. They wait until they can`);
      this.#problem = problem;
      return null;
    }
  }
}

/** Gives a keeper the job whose start is recorded. `exited` is called when the keeper, a child of this agent, ended. */
export function begin(
  { waiting, keeper }: Start,
  { timeline, outputBytesMax, log }: ExecutorOptions,
  exited: (running: RunningExecution) => void,
): RunningExecution {
  giveJob(keeper, waiting.execution, interpreterOf(waiting.commandText), processTraceparent(waiting.traceparent));
  logStart(log, waiting.execution, waiting.traceparent);
  const running = new RunningExecution({
    execution: waiting.execution,
    keeper: keeper.name,
    directory: keeper.directory,
    pid: keeper.pid,
    outputBytesMax,
    traceparent: waiting.traceparent,
    deadlineMs: waiting.timeoutMs === null ? null : timeline.monotonicMs() + waiting.timeoutMs,
    nowMs: () => timeline.monotonicMs(),
  });
  const gone = (name: NodeJS.Signals | null) => {
    running.keeperExited(name === null ? null : constants.signals[name]);
    exited(running);
  };
  const { child } = keeper;
  child.ref(); // an idle keeper does not hold the program open, a busy one does
  if (child.exitCode !== null || child.signalCode !== null) setImmediate(() => gone(child.signalCode));
  else child.once('exit', (_code, name) => gone(name));
  return running;
}
