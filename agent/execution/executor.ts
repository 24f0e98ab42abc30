/** Runs what the journal holds: in order, a few at a time, each at most once, whatever happens to the agent. */
import { mkdirSync, readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Delivery } from '../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { EXIT_CANCELLED, EXIT_INTERRUPTED } from '../../transport/protocol/limits.ts';
import { readClaim, takeClaim } from './claim.ts';
import type { ExecutorOptions, Start } from './executor-options.ts';
import { interpreterOf } from './interpreter.ts';
import type { Ending, StartPlan, Started, Waiting } from './journal.ts';
import { giveJob, Keepers, removeDirectory } from './keepers.ts';
import type { Keeper } from './keepers.ts';
import { nextLookMs } from './look-times.ts';
import type { OutputCursor, SessionRunner } from '../ports.ts';
import { listProcesses } from './processes.ts';
import type { ProcessEntry } from './processes.ts';
import { logEnd, logStart, processTraceparent, traceField } from './process-trace.ts';
import { RunningExecution, neverStarted } from './running-execution.ts';
import { storedOutputCursor } from './stored-output.ts';
import { StartKit } from './start-kit.ts';
import { StartGate } from './start-gate.ts';
import { elapsedMs, stampNow } from './timeline.ts';
import { WatchedOutputs } from './watched-outputs.ts';

/**
 * An idle agent starts its waiting keeper so long after the last execution, in ms: not while a fan-out to many agents
 * of one machine is under way.
 */
const PARK_AFTER_MS = 250;

/** The runner of a real agent. */
export class Executor implements SessionRunner {
  readonly #options: ExecutorOptions;
  readonly #keepers: Keepers;
  readonly #kit: StartKit;
  readonly #queue = new Set<ExecutionId>();
  readonly #running = new Map<ExecutionId, RunningExecution>();
  readonly #watched = new WatchedOutputs();
  /** Recorded as started in the transaction that took them in; `run` follows at once. */
  readonly #planned = new Map<ExecutionId, Start>();
  #endings: Ending[] = [];
  #timer: NodeJS.Timeout | null = null;
  #timerDueMs = 0;
  #parkTimer: NodeJS.Timeout | null = null;
  #isFlushing = false;
  #isClosing = false;
  readonly #gate: StartGate;
  /** When what arrives now was sent at the earliest. */
  #bornMs: number | null = null;
  #onIdle: (() => void) | null = null;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    this.#gate = new StartGate(() => options.timeline.aliveMs());
    options.journal.planStarts = (fresh) => this.#plan(fresh);
    this.#keepers = new Keepers({
      directory: options.directory,
      outputBytesMax: options.outputBytesMax,
      environment: options.environment,
    });
    this.#kit = new StartKit(this.#keepers, options.log);
  }

  /** Null when executions can be started; else one sentence. */
  get problem(): string | null {
    return this.#kit.problem;
  }

  /** Processes that keep running commands, and the one that waits for the next. */
  get keepers(): number {
    return this.#running.size + this.#planned.size + (this.#keepers.isParked ? 1 : 0);
  }

  /** Takes up what an earlier agent left: running and ended processes, and the queue. Call once, first. */
  recover(): void {
    const started = this.#options.journal.started();
    for (const execution of started) this.#adopt(execution);
    this.#takeUpOthers(new Set(started.map((execution) => execution.keeper)));
    // nobody knows for how long: the clock may have been set, the node deleted
    this.#gate.hold(this.#options.journal.waiting());
    this.run(this.#options.journal.waiting());
    this.#tick();
    this.#parkLater();
  }

  run(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      const planned = this.#planned.get(execution);
      if (planned !== undefined) this.#begin(planned);
      else if (!this.#isClosing) this.#queue.add(execution); // else it is in the journal, for the next agent
    }
    if (executions.some((execution) => this.#gate.isHeld(execution))) this.#options.onHeld?.();
    this.#startWaiting();
  }

  /** Notes that the agent lives, once every BEAT_MS: an absence shows. */
  beat(): void {
    if (this.#gate.beat()) this.hold();
  }

  arriving(bornMs: number): void {
    if (this.#gate.look()) this.hold();
    this.#bornMs = bornMs;
  }

  hold(): void {
    this.#gate.hold(this.#queue);
    if (this.#queue.size > 0) this.#options.onHeld?.();
  }

  held(): readonly ExecutionId[] {
    return this.#gate.held();
  }

  release(
    open: readonly { readonly execution: ExecutionId; readonly expiresInMs: number | null | undefined }[],
    askedMs: number,
  ): void {
    if (this.#gate.look()) return this.hold(); // it stood still since: what this says may be old
    for (const { execution, expiresInMs } of open) this.#gate.release(execution, askedMs, expiresInMs);
    this.#startWaiting();
  }

  cancel(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      const running = this.#running.get(execution);
      if (running !== undefined) running.stop('cancel');
      else if (this.#options.journal.load(execution) !== null) this.#end(neverStarted(execution, EXIT_CANCELLED));
      this.#unqueue(execution);
    }
    this.#tick();
  }

  settle(executions: readonly ExecutionId[]): void {
    const idle: ExecutionId[] = [];
    for (const execution of executions) {
      this.#unqueue(execution);
      const running = this.#running.get(execution);
      if (running === undefined) idle.push(execution);
      else running.stop('settle');
    }
    this.#endings = this.#endings.filter((ending) => !idle.includes(ending.execution));
    this.#options.journal.erase(idle);
    for (const execution of idle) this.#watched.ended(execution, null);
    this.#tick();
  }

  tail(execution: ExecutionId, offset: number, wake: () => void): OutputCursor | null {
    const running = this.#running.get(execution);
    if (running === undefined && !this.#queue.has(execution)) {
      return this.#options.journal.result(execution) === null
        ? null
        : storedOutputCursor(this.#options.journal, execution, offset);
    }
    const cursor = this.#watched.open(execution, offset, wake, running?.captured ?? null);
    this.#arm();
    return cursor;
  }

  /**
   * Starts nothing more, ends what runs and what waits as cancelled, and resolves when all of it is in the journal.
   * `keepsWaiting`: what has not started waits for the next agent.
   */
  async close({ keepsWaiting = false }: { readonly keepsWaiting?: boolean } = {}): Promise<void> {
    this.#isClosing = true;
    this.#queue.clear();
    if (!keepsWaiting)
      for (const execution of this.#options.journal.waiting())
        if (!isEnding(this.#endings, execution)) this.#end(neverStarted(execution, EXIT_CANCELLED));
    for (const running of this.#running.values()) running.stop('cancel');
    this.#tick();
    if (this.#running.size + this.#endings.length > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    for (const timer of [this.#timer, this.#parkTimer]) if (timer !== null) clearTimeout(timer);
    this.#keepers.close();
  }

  /** Lets go of everything as it is: what runs goes on, and the next executor of this journal takes it up. */
  detach(): void {
    this.#isClosing = true;
    for (const timer of [this.#timer, this.#parkTimer]) if (timer !== null) clearTimeout(timer);
    this.#queue.clear();
    this.#running.clear();
    this.#endings = []; // what they say is found again in the directories of their keepers
    this.#keepers.close();
  }

  #unqueue(execution: ExecutionId): void {
    this.#queue.delete(execution);
    this.#gate.forget(execution);
  }

  #startWaiting(): void {
    if (this.#isClosing) return;
    if (this.#gate.look()) this.hold();
    const batch = this.#prepare();
    if (batch.length === 0) return;
    if (
      !this.#options.journal.start(
        batch.map(({ waiting, keeper }) => ({ execution: waiting.execution, keeper: keeper.name })),
      )
    ) {
      for (const { keeper } of batch) this.#keepers.dismiss(keeper);
      this.#arm(); // the tick tries again
      return;
    }
    for (const start of batch) this.#begin(start);
  }

  /** Its start is recorded: now its process may exist (C3). */
  #begin({ waiting, keeper }: Start): void {
    this.#unqueue(waiting.execution);
    this.#planned.delete(waiting.execution);
    giveJob(keeper, waiting.execution, interpreterOf(waiting.commandText), processTraceparent(waiting.traceparent));
    logStart(this.#options.log, waiting.execution, waiting.traceparent);
    this.#watch(waiting, keeper);
    this.#arm();
  }

  /**
   * Chooses which of new executions start at once, so that their receipt and their start share a transaction, and its
   * fsync.
   */
  #plan(fresh: readonly Delivery[]): StartPlan {
    const starts = new Map<ExecutionId, Start>();
    const bornMs = this.#bornMs ?? this.#options.timeline.aliveMs();
    for (const { execution, expires_in_ms: expiresInMs } of fresh) this.#gate.arrived(execution, bornMs, expiresInMs);
    const room = this.#isClosing || this.#queue.size > 0 || !this.#gate.isCurrent(bornMs) ? 0 : this.#room();
    for (const delivery of fresh.slice(0, room)) {
      const waiting = {
        execution: delivery.execution,
        commandText: delivery.command_text,
        timeoutMs: delivery.timeout_ms,
        isExpired: false,
        traceparent: delivery.traceparent ?? null,
      };
      const keeper = this.#gate.isOver(delivery.execution) ? null : this.#kit.prepare(waiting.commandText);
      if (keeper === null) break; // the rest waits behind it
      starts.set(delivery.execution, { waiting, keeper });
    }
    return {
      keepers: new Map([...starts].map(([execution, { keeper }]) => [execution, keeper.name])),
      stored: () => {
        for (const [execution, start] of starts) this.#planned.set(execution, start);
      },
      refused: () => {
        for (const { keeper } of starts.values()) this.#keepers.dismiss(keeper);
        for (const { execution } of fresh) this.#gate.forget(execution);
      },
    };
  }

  #room(): number {
    return this.#options.concurrency - this.#running.size - this.#planned.size;
  }

  /** As many as may run now, each with its keeper and its script on the disk. */
  #prepare(): Start[] {
    const batch: Start[] = [];
    const over: ExecutionId[] = [];
    for (const execution of this.#queue) {
      if (batch.length >= this.#room()) break;
      if (this.#gate.isOver(execution)) {
        if (!this.#gate.isHeld(execution)) over.push(execution);
        continue;
      }
      if (this.#gate.isHeld(execution)) break; // those behind it wait as well: executions start in their order
      const waiting = this.#options.journal.load(execution);
      if (waiting === null || (waiting.isExpired && !this.#gate.knows(execution))) {
        this.#unqueue(execution); // the admin expires it too and says settle
        continue;
      }
      const keeper = this.#kit.prepare(waiting.commandText);
      if (keeper === null) {
        this.#arm();
        break;
      }
      batch.push({ waiting, keeper });
    }
    this.#gate.hold(over); // as far as is known here: an admin knows better
    if (over.length > 0) this.#options.onHeld?.();
    return batch;
  }

  #watch(waiting: Waiting, keeper: Keeper): void {
    const { timeline, outputBytesMax } = this.#options;
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
      log.warn('An execution was recorded as started and its process never came to be; it is reported as cancelled', {
        execution: started.execution,
        ...traceField(started.traceparent),
      });
      this.#end(neverStarted(started.execution, EXIT_INTERRUPTED));
      removeDirectory(home);
      return;
    }
    const nowMs = timeline.monotonicMs();
    this.#add(
      new RunningExecution({
        execution: started.execution,
        keeper: started.keeper,
        directory: home,
        pid: null,
        outputBytesMax,
        traceparent: started.traceparent,
        deadlineMs:
          started.timeoutMs === null ? null : nowMs + started.timeoutMs - elapsedMs(started.startedAt, timeline),
        nowMs: () => timeline.monotonicMs(),
      }),
    );
  }

  /**
   * Directories that the journal does not name. Those of idle keepers and of stored results go. A claimed one was
   * started under a journal that is lost: its execution is taken up like any other, so that it is neither run again nor
   * forgotten.
   */
  #takeUpOthers(owned: ReadonlySet<string>): void {
    const { journal, directory, log } = this.#options;
    for (const keeper of readdirSync(directory)) {
      if (owned.has(keeper)) continue;
      const home = join(directory, keeper);
      const execution = readClaim(home)?.execution ?? null;
      if (execution !== null && journal.restore({ execution, keeper })) {
        log.warn('An execution was found that the journal does not know; it is taken up', { execution });
        this.#adopt({
          execution,
          keeper,
          timeoutMs: null,
          startedAt: stampNow(this.#options.timeline),
          traceparent: null,
        });
      } else {
        takeClaim(home);
        removeDirectory(home);
      }
    }
  }

  #add(running: RunningExecution): void {
    this.#running.set(running.execution, running);
    this.#watched.started(running.execution, running.captured);
  }

  #tick(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    let listed: ProcessEntry[] | null = null;
    const processes = () => (listed ??= listProcesses());
    for (const running of this.#running.values()) this.#check(running, processes);
    this.#watched.look();
    if (this.#endings.length > 0) this.#flushLater();
    if (this.#queue.size === 0) this.#kit.clear(); // nothing is kept from starting
    this.#startWaiting();
    this.#arm();
  }

  #check(running: RunningExecution, processes: () => readonly ProcessEntry[]): void {
    if (this.#running.get(running.execution) !== running || isEnding(this.#endings, running.execution)) return;
    if (!running.check(processes)) return this.#arm();
    if (running.isSettled) {
      this.#options.journal.erase([running.execution]);
      this.#remove(running);
    } else {
      this.#end(running.ending());
    }
  }

  /** Ends of one turn of the event loop share a transaction. */
  #end(ending: Ending): void {
    logEnd(this.#options.log, ending, this.#running.get(ending.execution)?.traceparent ?? null);
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
      else this.#watched.ended(execution, null);
    }
    this.#startWaiting();
    this.#parkLater();
    this.#idled();
  }

  #remove(running: RunningExecution): void {
    this.#running.delete(running.execution);
    this.#watched.ended(running.execution, running.directory);
    this.#idled();
  }

  #idled(): void {
    if (this.#running.size + this.#endings.length === 0) this.#onIdle?.();
  }

  #parkLater(): void {
    if (this.#parkTimer !== null) clearTimeout(this.#parkTimer);
    if (this.#isClosing || this.#running.size > 0) return;
    this.#parkTimer = setTimeout(() => {
      if (!this.#isClosing) this.#keepers.park();
    }, PARK_AFTER_MS);
    this.#parkTimer.unref();
  }

  #arm(): void {
    const inMs = nextLookMs(this.#running.values(), {
      isWatched: this.#watched.isWatched,
      owes: this.#queue.size + this.#endings.length > 0,
      nowMs: this.#options.timeline.monotonicMs(),
    });
    if (inMs === null) return;
    const dueMs = this.#options.timeline.monotonicMs() + inMs;
    // never later than planned, however often something happens
    if (this.#timer !== null && this.#timerDueMs <= dueMs) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerDueMs = dueMs;
    this.#timer = setTimeout(() => this.#tick(), inMs);
  }
}

function isEnding(endings: readonly Ending[], execution: ExecutionId): boolean {
  return endings.some((ending) => ending.execution === execution);
}
