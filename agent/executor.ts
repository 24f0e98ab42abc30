/** Runs what the journal holds: in order, a few at a time, each at most once, whatever happens to the agent. */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { ExecutionId } from '../transport/protocol/ids.ts';
import { EXIT_CANCELLED, EXIT_INTERRUPTED } from '../transport/protocol/limits.ts';
import { interpreterOf } from './interpreter.ts';
import type { Ending, Journal, Started, Waiting } from './journal.ts';
import { KEEPER_FILES } from './keeper-script.ts';
import { Keepers, giveJob } from './keepers.ts';
import type { Keeper } from './keepers.ts';
import { LiveOutput } from './live-output.ts';
import type { AgentLog, OutputCursor, SessionRunner } from './ports.ts';
import { listProcesses } from './processes.ts';
import type { ProcessEntry } from './processes.ts';
import { RunningExecution } from './running-execution.ts';
import { storedOutputCursor } from './stored-output.ts';
import { elapsedMs, stampNow } from './timeline.ts';
import type { Timeline } from './timeline.ts';

/** Between two looks at running executions, in ms: usual, when somebody watches an output, and when one is being ended. */
const CHECK_MS = 250;
const CHECK_WATCHED_MS = 100;
const CHECK_STOPPING_MS = 40;

/** After a failed start or a refused write, in ms. */
const RETRY_MS = 1_000;

/** An idle agent starts its waiting keeper so long after the last execution, in ms: not while a fan-out to many agents of one machine is under way. */
const PARK_AFTER_MS = 250;

/** What the executor is told. */
export interface ExecutorOptions {
  readonly journal: Journal;
  readonly timeline: Timeline;
  readonly log: AgentLog;
  /** For keepers; created when missing. */
  readonly directory: string;
  readonly concurrency: number;
  readonly outputBytesMax: number;
  /** What scripts see. */
  readonly environment: Readonly<Record<string, string>>;
  /** These are finished in the journal now. */
  readonly onFinished: (executions: readonly ExecutionId[]) => void;
}

/** The runner of a real agent. */
export class Executor implements SessionRunner {
  readonly #options: ExecutorOptions;
  readonly #keepers: Keepers;
  readonly #queue = new Set<ExecutionId>();
  readonly #running = new Map<ExecutionId, RunningExecution>();
  readonly #live = new Map<ExecutionId, Set<LiveOutput>>();
  /** Directories of ended executions whose output somebody still reads. */
  readonly #read = new Map<ExecutionId, string>();
  #endings: Ending[] = [];
  #timer: NodeJS.Timeout | null = null;
  #timerDueMs = 0;
  #parkTimer: NodeJS.Timeout | null = null;
  #isFlushing = false;
  #problem: string | null = null;
  #isClosing = false;
  #onIdle: (() => void) | null = null;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    this.#keepers = new Keepers({ directory: options.directory, outputBytesMax: options.outputBytesMax, environment: options.environment });
  }

  /** Null when executions can be started; else one sentence. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Takes up what an earlier agent left: running and ended processes, and the queue. Call once, first. */
  recover(): void {
    const started = this.#options.journal.started();
    for (const execution of started) this.#adopt(execution);
    this.#takeUpOthers(new Set(started.map((execution) => execution.keeper)));
    this.run(this.#options.journal.waiting());
    this.#tick();
    this.#parkLater();
  }

  run(executions: readonly ExecutionId[]): void {
    if (this.#isClosing) return; // they are in the journal, for the next agent
    for (const execution of executions) this.#queue.add(execution);
    this.#startWaiting();
  }

  cancel(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      const running = this.#running.get(execution);
      if (running !== undefined) running.stop('cancel');
      else if (this.#options.journal.load(execution) !== null) this.#end(neverStarted(execution, EXIT_CANCELLED));
      this.#queue.delete(execution);
    }
    this.#tick();
  }

  settle(executions: readonly ExecutionId[]): void {
    const idle: ExecutionId[] = [];
    for (const execution of executions) {
      this.#queue.delete(execution);
      const running = this.#running.get(execution);
      if (running === undefined) idle.push(execution);
      else running.stop('settle');
    }
    this.#endings = this.#endings.filter((ending) => !idle.includes(ending.execution));
    this.#options.journal.erase(idle);
    for (const execution of idle) this.#endLive(execution);
    this.#tick();
  }

  tail(execution: ExecutionId, offset: number, wake: () => void): OutputCursor | null {
    const running = this.#running.get(execution);
    if (running === undefined && !this.#queue.has(execution)) {
      return this.#options.journal.result(execution) === null ? null : storedOutputCursor(this.#options.journal, execution, offset);
    }
    const cursor = new LiveOutput(offset, wake, (self) => this.#closeLive(execution, self));
    if (running !== undefined) cursor.attach(running.captured);
    const cursors = this.#live.get(execution) ?? new Set();
    this.#live.set(execution, cursors.add(cursor));
    this.#arm();
    return cursor;
  }

  /** Starts nothing more, ends what runs as cancelled, and resolves when all of it is in the journal. What has not started waits for the next agent. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#queue.clear();
    for (const running of this.#running.values()) running.stop('cancel');
    this.#tick();
    if (this.#running.size + this.#endings.length > 0) await new Promise<void>((resolve) => { this.#onIdle = resolve; });
    for (const timer of [this.#timer, this.#parkTimer]) if (timer !== null) clearTimeout(timer);
    this.#keepers.close();
  }

  #startWaiting(): void {
    if (this.#isClosing) return;
    const batch = this.#prepare();
    if (batch.length === 0) return;
    if (!this.#options.journal.start(batch.map(({ waiting, keeper }) => ({ execution: waiting.execution, keeper: keeper.name })))) {
      for (const { keeper } of batch) this.#keepers.dismiss(keeper);
      this.#arm(); // the tick tries again
      return;
    }
    // Only now may their processes exist (C3).
    for (const { waiting, keeper } of batch) {
      this.#queue.delete(waiting.execution);
      giveJob(keeper, waiting.execution, interpreterOf(waiting.commandText));
      this.#watch(waiting, keeper);
    }
    this.#arm();
  }

  /** As many as may run now, each with its keeper and its script on the disk. */
  #prepare(): { waiting: Waiting; keeper: Keeper }[] {
    const batch: { waiting: Waiting; keeper: Keeper }[] = [];
    for (const execution of this.#queue) {
      if (this.#running.size + batch.length >= this.#options.concurrency) break;
      const waiting = this.#options.journal.load(execution);
      if (waiting === null || waiting.isExpired) {
        this.#queue.delete(execution); // the admin expires it too and says settle
        continue;
      }
      const keeper = this.#prepareKeeper(waiting);
      if (keeper === null) {
        this.#arm();
        break;
      }
      batch.push({ waiting, keeper });
    }
    return batch;
  }

  #prepareKeeper(waiting: Waiting): Keeper | null {
    let keeper: Keeper | null = null;
    try {
      keeper = this.#keepers.take();
      writeFileSync(join(keeper.directory, KEEPER_FILES.script), waiting.commandText, { mode: 0o700 });
      if (this.#problem !== null) this.#options.log.info('Commands can be started again');
      this.#problem = null;
      return keeper;
    } catch (error) {
      if (keeper !== null) this.#keepers.dismiss(keeper);
      const problem = `commands cannot be started: ${(error as Error).message}`;
      if (this.#problem === null) this.#options.log.error(`Commands cannot be started: ${(error as Error).message}. They wait until they can`);
      this.#problem = problem;
      return null;
    }
  }

  #watch(waiting: Waiting, keeper: Keeper): void {
    const { timeline, outputBytesMax } = this.#options;
    const running = new RunningExecution({
      execution: waiting.execution, keeper: keeper.name, directory: keeper.directory, pid: keeper.pid, outputBytesMax,
      deadlineMs: waiting.timeoutMs === null ? null : timeline.monotonicMs() + waiting.timeoutMs,
      nowMs: () => timeline.monotonicMs(),
    });
    const gone = (name: NodeJS.Signals | null) => {
      running.keeperExited(name === null ? null : constants.signals[name]);
      this.#check(running, listProcesses);
    };
    const { child } = keeper;
    child.ref(); // an idle keeper does not hold the program open, a busy one does
    if (child.exitCode !== null || child.signalCode !== null) setImmediate(() => gone(child.signalCode));
    else child.once('exit', (_code, name) => gone(name));
    this.#add(running);
  }

  #adopt(started: Started): void {
    const { timeline, outputBytesMax, directory, log } = this.#options;
    const home = join(directory, started.keeper);
    if (takeClaim(home)) {
      log.warn('An execution was recorded as started and its process never came to be; it is reported as cancelled', { execution: started.execution });
      this.#end(neverStarted(started.execution, EXIT_INTERRUPTED));
      rmSync(home, { recursive: true, force: true });
      return;
    }
    const nowMs = timeline.monotonicMs();
    this.#add(new RunningExecution({
      execution: started.execution, keeper: started.keeper, directory: home, pid: null, outputBytesMax,
      deadlineMs: started.timeoutMs === null ? null : nowMs + started.timeoutMs - elapsedMs(started.startedAt, timeline),
      nowMs: () => timeline.monotonicMs(),
    }));
  }

  /**
   * Directories that the journal does not name. Those of idle keepers and of stored results go. A claimed one was started
   * under a journal that is lost: its execution is taken up like any other, so that it is neither run again nor forgotten.
   */
  #takeUpOthers(owned: ReadonlySet<string>): void {
    const { journal, directory, log } = this.#options;
    for (const keeper of readdirSync(directory)) {
      if (owned.has(keeper)) continue;
      const home = join(directory, keeper);
      const execution = claimedExecution(home);
      if (execution !== null && journal.restore({ execution, keeper })) {
        log.warn('An execution was found that the journal does not know; it is taken up', { execution });
        this.#adopt({ execution, keeper, timeoutMs: null, startedAt: stampNow(this.#options.timeline) });
      } else {
        takeClaim(home);
        rmSync(home, { recursive: true, force: true });
      }
    }
  }

  #add(running: RunningExecution): void {
    this.#running.set(running.execution, running);
    for (const cursor of this.#live.get(running.execution) ?? []) cursor.attach(running.captured);
  }

  #tick(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    let listed: ProcessEntry[] | null = null;
    const processes = () => (listed ??= listProcesses());
    for (const running of this.#running.values()) this.#check(running, processes);
    for (const [execution, cursors] of this.#live) if (this.#running.has(execution)) for (const cursor of cursors) cursor.look();
    if (this.#endings.length > 0) this.#flushLater();
    if (this.#queue.size === 0) this.#problem = null; // nothing is kept from starting
    this.#startWaiting();
    this.#arm();
  }

  #check(running: RunningExecution, processes: () => readonly ProcessEntry[]): void {
    if (this.#running.get(running.execution) !== running || this.#isEnding(running.execution)) return;
    if (!running.check(processes)) return this.#arm();
    if (running.isSettled) {
      this.#options.journal.erase([running.execution]);
      this.#remove(running);
    } else {
      this.#end(running.ending());
    }
  }

  #isEnding(execution: ExecutionId): boolean {
    return this.#endings.some((ending) => ending.execution === execution);
  }

  /** Ends of one turn of the event loop share a transaction. */
  #end(ending: Ending): void {
    this.#endings.push(ending);
    this.#flushLater();
  }

  #flushLater(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.#storeEndings();
    });
  }

  #storeEndings(): void {
    const endings = this.#endings;
    if (endings.length === 0) return this.#idled();
    if (!this.#options.journal.finish(endings)) return this.#arm(); // kept; the tick tries again
    this.#endings = [];
    const executions = endings.map((ending) => ending.execution);
    this.#options.onFinished(executions);
    for (const execution of executions) {
      const running = this.#running.get(execution);
      if (running !== undefined) this.#remove(running);
      else this.#endLive(execution);
    }
    this.#startWaiting();
    this.#parkLater();
    this.#idled();
  }

  #remove(running: RunningExecution): void {
    this.#running.delete(running.execution);
    this.#read.set(running.execution, running.directory);
    this.#endLive(running.execution);
    this.#removeRead(running.execution);
    this.#idled();
  }

  #endLive(execution: ExecutionId): void {
    for (const cursor of this.#live.get(execution) ?? []) cursor.end();
  }

  #closeLive(execution: ExecutionId, cursor: LiveOutput): void {
    const cursors = this.#live.get(execution);
    cursors?.delete(cursor);
    if (cursors?.size === 0) this.#live.delete(execution);
    this.#removeRead(execution);
  }

  #removeRead(execution: ExecutionId): void {
    const directory = this.#read.get(execution);
    if (directory === undefined || this.#live.has(execution)) return;
    this.#read.delete(execution);
    rmSync(directory, { recursive: true, force: true });
  }

  #idled(): void {
    if (this.#running.size + this.#endings.length === 0) this.#onIdle?.();
  }

  #parkLater(): void {
    if (this.#parkTimer !== null) clearTimeout(this.#parkTimer);
    if (this.#isClosing || this.#running.size > 0) return;
    this.#parkTimer = setTimeout(() => { if (!this.#isClosing) this.#keepers.park(); }, PARK_AFTER_MS);
    this.#parkTimer.unref();
  }

  #arm(): void {
    const inMs = this.#dueMs();
    if (inMs === null) return;
    const dueMs = this.#options.timeline.monotonicMs() + inMs;
    if (this.#timer !== null && this.#timerDueMs <= dueMs) return; // never later than planned, however often something happens
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerDueMs = dueMs;
    this.#timer = setTimeout(() => this.#tick(), inMs);
  }

  #dueMs(): number | null {
    if (this.#running.size === 0) return this.#queue.size + this.#endings.length > 0 ? RETRY_MS : null;
    const nowMs = this.#options.timeline.monotonicMs();
    let dueMs = this.#live.size > 0 ? CHECK_WATCHED_MS : CHECK_MS;
    for (const running of this.#running.values()) {
      if (running.isStopping) dueMs = Math.min(dueMs, CHECK_STOPPING_MS);
      if (running.deadlineMs !== null) dueMs = Math.min(dueMs, Math.max(1, running.deadlineMs - nowMs));
    }
    return dueMs;
  }
}

function neverStarted(execution: ExecutionId, exitCode: number): Ending {
  return { execution, outcome: 'cancelled', exitCode, output: Buffer.alloc(0), outputTruncated: false };
}

/** Makes the claim in the keeper's place. True: that keeper never started anything, and never will. */
function takeClaim(directory: string): boolean {
  try {
    closeSync(openSync(join(directory, KEEPER_FILES.claim), 'wx', 0o600));
    return true;
  } catch (error) {
    // A directory that is gone cannot hold a running keeper's claim either.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

function claimedExecution(directory: string): ExecutionId | null {
  try {
    return (/^\d+ (\S+)\n$/.exec(readFileSync(join(directory, KEEPER_FILES.claim), 'utf8'))?.[1] ?? null) as ExecutionId | null;
  } catch {
    return null;
  }
}
