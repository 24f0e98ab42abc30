/** Runs what the journal holds: in order, a few at a time, each at most once, whatever happens to the agent. */
import { mkdirSync } from 'node:fs';
import type { Delivery } from '../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { EXIT_CANCELLED } from '../../transport/protocol/limits.ts';
import { Endings } from './endings.ts';
import { neverStarted, type Ending } from './execution.ts';
import type { ExecutorOptions, Start } from './executor-options.ts';
import { ExecShims } from './exec-shim/exec-shims.ts';
import { Parking } from './exec-shim/parking.ts';
import { LookTimer } from './look-times.ts';
import type { Service } from '../observability/health.ts';
import type { OutputCursor, Received, SessionRunner } from '../session/ports.ts';
import { logEnd } from './process-trace.ts';
import { takeUp } from './recovery.ts';
import { removeRemains } from './remains.ts';
import type { RunningExecution } from './running-execution.ts';
import { RunningExecutions } from './running-executions.ts';
import { begin, StartKit } from './starts/start-kit.ts';
import { storedOutputCursor } from './output/stored-output.ts';
import { WaitingQueue } from './starts/waiting-queue.ts';

/** The runner of a real agent. It owns the journal's executions: what arrives is stored, and started, through it. */
export class Executor implements SessionRunner {
  /** Well while executions can be started. */
  readonly service: Service = {
    name: 'runner',
    problem: () => this.#kit.problem,
    // What cannot be ended is of the machine or of its command: another agent would not do better (self-updates).
    note: () => this.#running.note,
  };
  readonly #options: ExecutorOptions;
  readonly #shims: ExecShims;
  readonly #kit: StartKit;
  readonly #waiting: WaitingQueue;
  readonly #running: RunningExecutions;
  readonly #endings: Endings;
  readonly #look: LookTimer;
  readonly #parking: Parking;
  #isClosing = false;
  #isDetached = false;
  #onIdle: (() => void) | null = null;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    this.#shims = new ExecShims({
      directory: options.directory,
      outputBytesMax: options.outputBytesMax,
      environment: options.environment,
    });
    this.#parking = new Parking(this.#shims);
    const nowMs = () => options.timeline.monotonicMs();
    this.#kit = new StartKit(this.#shims, options.log, nowMs);
    this.#look = new LookTimer(nowMs, () => this.#tick());
    this.#waiting = new WaitingQueue(options, {
      prepare: (commandText) => this.#kit.prepare(commandText),
      dismiss: (shim) => this.#shims.dismiss(shim),
    });
    this.#running = new RunningExecutions({
      isEnding: (execution) => this.#endings.has(execution),
      over: (running) => this.#over(running),
      goesOn: (running) => {
        this.#kit.looked(running);
        this.#arm();
      },
      stuck: ({ execution, stuck }) =>
        options.log.error(
          { execution, pids: stuck },
          'An execution cannot be ended: processes of it live on after KILL. It is tried again each second',
        ),
      unread: (execution, directory) => removeRemains(directory, execution, options.log),
    });
    this.#endings = new Endings(options.journal, {
      stored: (executions) => this.#stored(executions),
      refused: () => this.#arm(), // kept; the tick tries again
      idle: () => this.#idled(),
    });
  }

  /** Processes that keep running commands, and the one that waits for the next. */
  get shims(): number {
    return this.#running.size + this.#waiting.planned + (this.#shims.isParked ? 1 : 0);
  }

  /** Takes up what an earlier agent left: running and ended processes, and the queue. Call once, first. */
  recover(): void {
    takeUp(this.#options, { add: (running) => this.#running.add(running), end: (ending) => this.#end(ending) });
    // nobody knows for how long: the clock may have been set, the node deleted
    this.#waiting.ask(this.#options.journal.waiting());
    this.run(this.#options.journal.waiting());
    this.#tick();
    this.#parkLater();
  }

  receive(deliveries: readonly Delivery[]): Received {
    return this.#options.journal.receive(deliveries, (fresh) =>
      this.#waiting.plan(fresh, this.#isClosing ? 0 : this.#room()),
    );
  }

  run(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      const planned = this.#waiting.takePlanned(execution);
      if (planned !== null) this.#begin(planned);
      else if (!this.#isClosing) this.#waiting.add(execution); // else it is in the journal, for the next agent
    }
    this.#waiting.sayHeld(executions);
    this.#startWaiting();
  }

  /** Notes that the agent lives, once every BEAT_MS: an absence shows. */
  beat(): void {
    this.#waiting.beat();
  }

  arriving(bornMs: number): void {
    this.#waiting.arriving(bornMs);
  }

  hold(): void {
    this.#waiting.hold();
  }

  held(): ReadonlyMap<ExecutionId, number> {
    return this.#waiting.held();
  }

  release(
    open: readonly { readonly execution: ExecutionId; readonly expiresInMs: number | null | undefined }[],
    askedMs: number,
  ): void {
    if (this.#waiting.release(open, askedMs)) this.#startWaiting();
  }

  cancel(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      const running = this.#running.get(execution);
      if (running !== undefined) running.stop('cancel');
      else if (this.#options.journal.load(execution) !== null) this.#end(neverStarted(execution, EXIT_CANCELLED));
      this.#waiting.remove(execution);
    }
    this.#tick();
  }

  settle(executions: readonly ExecutionId[]): void {
    if (this.#isDetached) return; // their processes are the next executor's, and an admin settles them again
    const idle: ExecutionId[] = [];
    for (const execution of executions) {
      this.#waiting.remove(execution);
      const running = this.#running.get(execution);
      if (running === undefined) idle.push(execution);
      else running.stop('settle');
    }
    this.#endings.drop(idle);
    this.#options.journal.erase(idle);
    for (const execution of idle) this.#running.remove(execution);
    this.#tick();
  }

  tail(execution: ExecutionId, offset: number, wake: () => void): OutputCursor | null {
    if (this.#running.get(execution) === undefined && !this.#waiting.has(execution)) {
      const finished = this.#options.journal.result(execution);
      // One that was cut has its places elsewhere than the live output had: who read that is told all that is stored.
      return finished === null || finished.outputTruncated
        ? null
        : storedOutputCursor(this.#options.journal, execution, offset);
    }
    const cursor = this.#running.watch(execution, offset, wake);
    this.#arm();
    return cursor;
  }

  /**
   * Starts nothing more, ends what runs and what waits as cancelled, and resolves when all of it is in the journal.
   * `keepsWaiting`: what has not started waits for the next agent.
   */
  async close({ keepsWaiting = false }: { readonly keepsWaiting?: boolean } = {}): Promise<void> {
    this.#isClosing = true;
    this.#parking.stop();
    this.#waiting.clear();
    if (!keepsWaiting)
      for (const execution of this.#options.journal.waiting())
        if (!this.#endings.has(execution)) this.#end(neverStarted(execution, EXIT_CANCELLED));
    this.#running.cancelAll();
    this.#tick();
    if (this.#running.size + this.#endings.size > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    this.#look.clear();
    this.#shims.close();
  }

  /** Lets go of everything as it is: what runs goes on, and the next executor of this journal takes it up. */
  detach(): void {
    this.#isClosing = true;
    this.#isDetached = true;
    this.#parking.stop();
    this.#look.clear();
    this.#waiting.clear();
    this.#running.clear();
    this.#endings.clear(); // what they say is found again in the directories of their exec shims
    this.#shims.close();
  }

  #startWaiting(): void {
    if (this.#isClosing) return;
    const batch = this.#waiting.take(() => this.#room());
    if (batch.length === 0) {
      // Nobody tells when the time of the first one is over, or when an exec shim can be had again.
      if (this.#waiting.size > 0) this.#arm();
      return;
    }
    if (
      !this.#options.journal.start(
        batch.map(({ waiting, shim }) => ({ execution: waiting.execution, shim: shim.name })),
      )
    ) {
      for (const { shim } of batch) this.#shims.dismiss(shim);
      this.#kit.refused();
      this.#arm(); // the tick tries again
      return;
    }
    for (const start of batch) this.#begin(start);
  }

  /** Its start is recorded: now its process may exist (C3). */
  #begin(start: Start): void {
    this.#waiting.remove(start.waiting.execution);
    this.#running.add(begin(start, this.#options, (running) => this.#running.look(running)));
    this.#arm();
  }

  /** None where an earlier agent, which ran more at once, left more than that. */
  #room(): number {
    return Math.max(0, this.#options.concurrency - this.#running.size - this.#waiting.planned);
  }

  #tick(): void {
    this.#look.clear();
    this.#running.lookAtAll();
    this.#endings.flushLater();
    if (this.#waiting.size === 0) this.#kit.idle(this.#running.values());
    if (this.#kit.isDue) this.#startWaiting();
    this.#arm();
  }

  #over(running: RunningExecution): void {
    if (running.isUnstarted && !this.#isClosing) return this.#withdraw(running);
    this.#kit.looked(running);
    if (!running.isSettled) return this.#end(running.ending());
    this.#options.journal.erase([running.execution]);
    this.#running.remove(running.execution);
    this.#idled();
  }

  /** It got no start lock, as where the disk filled behind its script: it waits again, as if that had found no room. */
  #withdraw(running: RunningExecution): void {
    const { execution, directory } = running;
    if (running.ageMs >= this.#kit.withoutStartLock(running) && this.#options.journal.withdraw(execution)) {
      this.#running.withdraw(execution);
      removeRemains(directory, execution, this.#options.log);
      this.#waiting.ask([execution]); // when it expires was forgotten
      this.run([execution]);
    }
    this.#arm();
  }

  #end(ending: Ending): void {
    logEnd(this.#options.log, ending, this.#running.get(ending.execution)?.traceparent ?? null);
    this.#endings.add(ending);
  }

  #stored(executions: readonly ExecutionId[]): void {
    this.#options.onFinished(executions);
    for (const execution of executions) this.#running.remove(execution);
    this.#startWaiting();
    this.#parkLater();
    this.#idled();
  }

  #idled(): void {
    if (this.#running.size + this.#endings.size === 0) this.#onIdle?.();
  }

  #parkLater(): void {
    if (this.#isClosing || this.#running.size > 0) this.#parking.stop();
    else this.#parking.later();
  }

  #arm(): void {
    const inMs = this.#running.nextLookMs(
      this.#waiting.size + this.#endings.size > 0,
      this.#options.timeline.monotonicMs(),
    );
    if (inMs !== null) this.#look.in(inMs);
  }
}
