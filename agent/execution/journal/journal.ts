/**
 * The agent's durable memory of executions: received, started, finished, forgotten. SQLite with an fsync for every
 * transaction.
 */
import type { Delivery } from '../../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { EXECUTIONS_PER_FRAME_MAX, EXIT_CANCELLED } from '../../../transport/protocol/limits.ts';
import { neverStarted, type Ending, type JournalCounts, type Started, type Waiting } from '../execution.ts';
import { formerEnd } from './former-end.ts';
import { JournalFile, type Durability } from './journal-file.ts';
import { JournalRows, type RowState } from './journal-rows.ts';
import type { Ledger, LedgerStart } from '../ledger/ledger.ts';
import type { Finished, OutputPiece, Received, SessionJournal } from '../../session/ports.ts';
import type { Log } from '../../../transport/net/log.ts';
import { LateSync } from './late-sync.ts';
import { reconcile } from './reconciliation.ts';
import type { PlanStarts } from '../starts/start-plan.ts';
import { stampNow, type Timeline } from '../timeline.ts';

/**
 * Every method that writes has done so when it returns true, and has changed nothing when it returns false: the disk is
 * full or broken, which `problem` then says until a write succeeds again. Only a corrupt file throws, at opening.
 *
 * Receipts and starts are fsynced before the method returns: acknowledgements (C4) and processes (C3) follow from them.
 * A start is fsynced in the ledger, which a damaged journal does not touch; the journal's own record of it follows with
 * the next fsync.
 * Ends are fsynced a moment later (`LateSync`), if they are not confirmed by then, and forgetting is not: a machine that goes
 * down in between finds an execution that was started and lost, which it was a moment before as well, and an admin that
 * has the result ignores that. It halves the fsyncs of a fan-out to many agents of one disk.
 */
export class Journal implements SessionJournal {
  readonly #file: JournalFile;
  readonly #rows: JournalRows;
  readonly #ledger: Ledger | null;
  readonly #timeline: Timeline;
  /** Ids in the order of receipt, with their state; the rows hold the rest. */
  readonly #states = new Map<ExecutionId, RowState>();
  /** Confirmed while the disk refused the deletion: not to be sent again, and deleted with the next success. */
  readonly #unwanted = new Set<ExecutionId>();
  readonly #past = { received: 0, completed: 0, cancelled: 0, dropped: 0 };
  readonly #sync = new LateSync(() => this.#touch());

  /**
   * Opens or creates the journal at `path`. `ledger` remembers what ran when it has forgotten; it stays its owner's to
   * close. Throws what SQLite throws when the file is no sound journal.
   */
  constructor(path: string, timeline: Timeline, log: Log, ledger: Ledger | null = null) {
    this.#timeline = timeline;
    this.#ledger = ledger;
    this.#file = new JournalFile(path, log);
    this.#rows = new JournalRows(this.#file, timeline);
    for (const [execution, state] of this.#rows.states()) this.#states.set(execution, state);
    if (ledger === null) return;
    reconcile(ledger, {
      states: this.#states,
      rows: this.#rows,
      restore: (start) => this.restore(start),
      answer: (executions) => this.#recall(executions),
    });
  }

  /** Null while writes succeed; else one sentence. */
  get problem(): string | null {
    return this.#file.problem ?? this.#ledger?.problem ?? null;
  }

  /** For metrics. */
  counts(): JournalCounts {
    const now = { received: 0, started: 0, finished: 0 };
    for (const [execution, state] of this.#states) if (!this.#unwanted.has(execution)) now[state] += 1;
    return { waiting: now.received, started: now.started, unconfirmed: now.finished, ...this.#past };
  }

  holding(): readonly ExecutionId[] {
    return [...this.#states.keys()].filter((execution) => !this.#unwanted.has(execution));
  }

  finished(): readonly ExecutionId[] {
    return this.#rows.finished().filter((execution) => !this.#unwanted.has(execution));
  }

  /**
   * Stores deliveries durably before it returns. `planStarts` says which of them are started with that; without it
   * every execution waits for `start`.
   */
  receive(deliveries: readonly Delivery[], planStarts: PlanStarts | null = null): Received {
    const named = deliveries.map(({ execution }) => execution);
    const kept = this.#wantAgain(named);
    if (named.some((execution) => this.#unwanted.has(execution))) this.erase([]); // once gone they are as any other
    const known = named.filter((execution) => this.#states.has(execution) && !this.#unwanted.has(execution));
    const room = EXECUTIONS_PER_FRAME_MAX - this.#states.size;
    const unknown = new Map(
      deliveries
        .filter((delivery) => !this.#states.has(delivery.execution))
        .map((delivery) => [delivery.execution, delivery]),
    );
    const fresh = [...unknown.values()].slice(0, Math.max(0, room));
    // What ran before is answered, never run: the database was set back to before it had the result (C3).
    const { ran = [], unheard = [] } = Object.groupBy(fresh, ({ execution }) =>
      this.#ledger?.stateOf(execution) == null ? 'unheard' : 'ran',
    );
    const answered = [...kept, ...this.#recall(ran.map((delivery) => delivery.execution))];
    const stored = this.#insert(unheard, planStarts) ? unheard.map((delivery) => delivery.execution) : [];
    return {
      acknowledged: [...new Set([...known, ...answered, ...stored])],
      fresh: stored,
      ...(answered.length > 0 && { answered }),
    };
  }

  recall(executions: readonly ExecutionId[]): readonly ExecutionId[] {
    const kept = this.#wantAgain(executions);
    const room = Math.max(0, EXECUTIONS_PER_FRAME_MAX - this.#states.size);
    const lost = this.#recall(
      [...new Set(executions)].filter((execution) => !this.#states.has(execution)).slice(0, room),
    );
    return [...kept, ...lost];
  }

  /**
   * Confirmed results that the disk did not let go, of these: whoever names them again has lost them since (a database
   * that was set back) and gets them as they are.
   */
  #wantAgain(executions: readonly ExecutionId[]): readonly ExecutionId[] {
    return executions.filter(
      (execution) => this.#states.get(execution) === 'finished' && this.#unwanted.delete(execution),
    );
  }

  /** Puts results back of executions that the ledger knows and the journal does not. Returns those that are there. */
  #recall(executions: readonly ExecutionId[]): readonly ExecutionId[] {
    if (executions.length === 0) return [];
    const stamp = stampNow(this.#timeline);
    const isStored = this.#file.write('answer for executions of before', () => {
      for (const execution of executions) this.#rows.replace(execution, formerEnd(this.#ledger, execution), stamp);
    });
    if (!isStored) return [];
    for (const execution of executions) this.#states.set(execution, 'finished');
    return executions;
  }

  #insert(fresh: readonly Delivery[], planStarts: PlanStarts | null): boolean {
    if (fresh.length === 0) return true;
    const plan = planStarts?.(fresh);
    const stateOf = (execution: ExecutionId) => (plan?.shims.has(execution) === true ? 'started' : 'received');
    const starts = [...(plan?.shims ?? [])].map(([execution, shim]) => ({ execution, shim }));
    if (!this.#noteStarts(starts)) {
      plan?.refused();
      return false;
    }
    const isStored = this.#file.write(
      'take in executions',
      () => {
        const stamp = stampNow(this.#timeline);
        for (const delivery of fresh) this.#rows.insert(delivery, plan?.shims.get(delivery.execution) ?? null, stamp);
      },
      starts.length === fresh.length ? this.#afterLedger() : 'now',
    );
    if (!isStored) {
      this.#ledger?.withdraw(starts.map(({ execution }) => execution));
      plan?.refused();
      return false;
    }
    this.#past.received += fresh.length;
    for (const { execution } of fresh) this.#states.set(execution, stateOf(execution));
    plan?.stored();
    return true;
  }

  /** Ids of all that have not started, in the order of receipt. */
  waiting(): readonly ExecutionId[] {
    return [...this.#states].filter(([, state]) => state === 'received').map(([execution]) => execution);
  }

  /** What is needed to start it; null when it is not waiting. */
  load(execution: ExecutionId): Waiting | null {
    return this.#rows.waiting(execution);
  }

  /** Records starts before any of their processes exists. */
  start(starts: readonly { readonly execution: ExecutionId; readonly shim: string }[]): boolean {
    if (!this.#noteStarts(starts)) return false;
    const isStored = this.#file.write(
      'record a start',
      () => {
        const stamp = stampNow(this.#timeline);
        for (const start of starts) this.#rows.start(start, stamp);
      },
      this.#afterLedger(),
    );
    if (!isStored) this.#ledger?.withdraw(starts.map(({ execution }) => execution));
    if (isStored) for (const { execution } of starts) this.#states.set(execution, 'started');
    return isStored;
  }

  /** Before their processes exist, and before the journal: the ledger has starts that the journal may lose. */
  #noteStarts(starts: readonly LedgerStart[]): boolean {
    return starts.length === 0 || this.#ledger === null || this.#ledger.start(starts);
  }

  /** A start in the ledger is on the disk already: the journal's own may follow, so that both cost one fsync. */
  #afterLedger(): Durability {
    return this.#ledger === null ? 'now' : 'soon';
  }

  /**
   * Takes in a start that this journal lost: with the whole file, or with the last moments before the machine went
   * down. False when it is known, the execution is over, or it cannot be stored.
   */
  restore(start: { readonly execution: ExecutionId; readonly shim: string }): boolean {
    if (['started', 'finished'].includes(this.#states.get(start.execution) ?? '')) return false;
    const stamp = stampNow(this.#timeline);
    const isStored = this.#file.write('take up an execution', () => this.#rows.restore(start, stamp));
    if (isStored) this.#states.set(start.execution, 'started');
    return isStored;
  }

  /** All whose start is recorded and whose end is not. */
  started(): readonly Started[] {
    return this.#rows.started();
  }

  /** Stores ends; from here they are results to be sent. */
  finish(endings: readonly Ending[]): boolean {
    const isStored = this.#file.write(
      'store a result',
      () => {
        const stamp = stampNow(this.#timeline);
        for (const ending of endings) this.#rows.finish(ending, stamp);
      },
      'soon',
    );
    if (!isStored) return false;
    this.#ledger?.end(
      endings.filter(({ execution }) => this.#states.has(execution) && this.#states.get(execution) !== 'finished'),
    );
    this.#sync.arm();
    for (const { execution, outcome } of endings) {
      if (!this.#states.has(execution) || this.#states.get(execution) === 'finished') continue;
      this.#states.set(execution, 'finished');
      this.#past[outcome] += 1;
    }
    return true;
  }

  result(execution: ExecutionId): Finished | null {
    return this.#rows.result(execution);
  }

  output(execution: ExecutionId, offset: number, bytesMax: number): OutputPiece | null {
    return this.#rows.output(execution, offset, bytesMax);
  }

  forget(executions: readonly ExecutionId[]): void {
    this.erase(executions.filter((execution) => this.#states.get(execution) === 'finished'));
  }

  /** Drops executions in any state: the admin wants nothing of them any more. */
  erase(executions: readonly ExecutionId[]): void {
    for (const execution of executions.filter((one) => this.#states.has(one) && !this.#unwanted.has(one))) {
      this.#unwanted.add(execution);
      if (this.#states.get(execution) !== 'finished') this.#past.dropped += 1;
    }
    if (this.#unwanted.size === 0) return;
    const isStored = this.#file.write(
      'drop what admins confirmed',
      () => {
        for (const execution of this.#unwanted) this.#rows.delete(execution);
      },
      'soon',
    );
    if (!isStored) return;
    this.#tellLedger([...this.#unwanted]);
    for (const execution of this.#unwanted) this.#states.delete(execution);
    this.#unwanted.clear();
  }

  /** What ran and is wanted no more counts as cancelled, should it ever be sent again; what never started may be. */
  #tellLedger(executions: readonly ExecutionId[]): void {
    const started = executions.filter((execution) => this.#states.get(execution) === 'started');
    this.#ledger?.end(started.map((execution) => neverStarted(execution, EXIT_CANCELLED)));
    this.#ledger?.confirm(executions);
  }

  /** Tries a small write, after failed ones. True when the journal can write. */
  heal(): boolean {
    if (this.#ledger?.heal() === false) return false;
    return this.#file.problem === null || this.#file.write('write', () => this.#rows.probe());
  }

  /** Any synced transaction takes those before it along. Its row changes nothing. */
  #touch(): void {
    if ([...this.#states.values()].includes('finished')) this.#file.write('write', () => this.#rows.touch());
  }

  close(): void {
    this.#sync.close();
    this.#file.close();
  }
}
