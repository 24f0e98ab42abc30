/**
 * The agent's durable memory of executions: received, started, finished, forgotten. SQLite with an fsync for every
 * transaction.
 */
import type { Delivery } from '../../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import type { Ending, JournalCounts, Started, Waiting } from '../execution.ts';
import { formerEnd, formerEnding } from './former-end.ts';
import { tellGivenUp } from './given-up.ts';
import { HeldExecutions } from './held-executions.ts';
import { JournalFile } from './journal-file.ts';
import { JournalRows } from './journal-rows.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Finished, OutputPiece, Received, SessionJournal } from '../../session/ports.ts';
import type { Log } from '../../../transport/net/log.ts';
import { LateSync } from './late-sync.ts';
import { reconcile } from './reconciliation.ts';
import { recordStarts } from './start-record.ts';
import type { PlanStarts } from '../starts/start-plan.ts';
import { stampNow, type Timeline } from '../timeline.ts';
import { UnstoredExecutions, type KnownStart } from './unstored-executions.ts';

/**
 * Every method that writes has done so when it returns true, and has changed nothing when it returns false: the disk is
 * full or broken, which `problem` then says until a write succeeds again. Only a corrupt file throws, at opening: one
 * that turns out so later is `unreadable`, and its agent ends, since the next start sets it aside.
 *
 * Receipts and starts are fsynced before the method returns: acknowledgements (C4) and processes (C3) follow from them.
 * A start is fsynced in the ledger, which a damaged journal does not touch; the journal's own record of it follows with
 * the next fsync.
 * Ends are fsynced a moment later (`LateSync`), if they are not confirmed by then, and forgetting is not: a machine
 * that goes down in between finds an execution that was started and lost, which it was a moment before as well, and an
 * admin that has the result ignores that. It halves the fsyncs of a fan-out to many agents of one disk.
 */
export class Journal implements SessionJournal {
  readonly #file: JournalFile;
  readonly #rows: JournalRows;
  readonly #ledger: Ledger | null;
  readonly #timeline: Timeline;
  readonly #held: HeldExecutions;
  readonly #unstored = new UnstoredExecutions();
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
    this.#held = new HeldExecutions(this.#rows.states());
    if (ledger === null) return;
    reconcile(ledger, {
      states: this.#held.states,
      rows: this.#rows,
      restore: (start) => this.restore(start),
      answer: (executions) => this.#answer(executions),
    });
  }

  /** Null while it is read and writes succeed; else one sentence. */
  get problem(): string | null {
    return this.#file.problem ?? this.#ledger?.problem ?? null;
  }

  /** Resolves once it cannot be read. It answers as if it knew of nothing from then on, and takes nothing in. */
  get unreadable(): Promise<void> {
    return this.#file.unreadable;
  }

  /** For metrics. */
  counts(): JournalCounts {
    return this.#held.counts();
  }

  holding(): readonly ExecutionId[] {
    return this.#held.wanted();
  }

  finished(): readonly ExecutionId[] {
    return this.#file.read(() => this.#rows.finished(), []).filter((execution) => !this.#held.unwanted.has(execution));
  }

  /**
   * Stores deliveries durably before it returns. `planStarts` says which of them are started with that; without it
   * every execution waits for `start`.
   */
  receive(deliveries: readonly Delivery[], planStarts: PlanStarts | null = null): Received {
    const named = deliveries.map(({ execution }) => execution);
    const kept = this.#held.wantAgain(named);
    if (named.some((execution) => this.#held.unwanted.has(execution))) this.erase([]); // once gone they are as any other
    const known = named.filter((execution) => this.#held.has(execution));
    const unknown = new Map(
      deliveries
        .filter((delivery) => !this.#held.states.has(delivery.execution))
        .map((delivery) => [delivery.execution, delivery]),
    );
    const fresh = [...unknown.values()].slice(0, this.#held.room);
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
    const kept = this.#held.wantAgain(executions);
    const lost = this.#recall(
      [...new Set(executions)].filter((execution) => !this.#held.states.has(execution)).slice(0, this.#held.room),
    );
    return [...kept, ...lost];
  }

  /** As `#recall`; what cannot be stored now is among `formerEnds`. */
  #answer(executions: readonly ExecutionId[]): void {
    if (this.#recall(executions).length === executions.length) return;
    this.#unstored.ended(executions);
    this.#held.set(executions, 'started');
  }

  /** Puts results back of executions that the ledger knows and the journal does not. Returns those that are there. */
  #recall(executions: readonly ExecutionId[]): readonly ExecutionId[] {
    if (executions.length === 0) return [];
    const stamp = stampNow(this.#timeline);
    const isStored = this.#file.write('answer for executions of before', () => {
      for (const execution of executions) this.#rows.replace(execution, formerEnd(this.#ledger, execution), stamp);
    });
    if (!isStored) return [];
    this.#held.set(executions, 'finished');
    return executions;
  }

  #insert(fresh: readonly Delivery[], planStarts: PlanStarts | null): boolean {
    if (fresh.length === 0) return true;
    const plan = planStarts?.(fresh);
    const starts = [...(plan?.shims ?? [])].map(([execution, shim]) => ({ execution, shim }));
    const isStored = this.#recordStarts('take in executions', starts, starts.length === fresh.length, () => {
      const stamp = stampNow(this.#timeline);
      for (const delivery of fresh) this.#rows.insert(delivery, plan?.shims.get(delivery.execution) ?? null, stamp);
    });
    if (!isStored) {
      plan?.refused();
      return false;
    }
    this.#held.received(
      fresh.map(({ execution }) => execution),
      (execution) => (plan?.shims.has(execution) === true ? 'started' : 'received'),
    );
    plan?.stored();
    return true;
  }

  /** Ids of all that have not started, in the order of receipt. */
  waiting(): readonly ExecutionId[] {
    return this.#held.inState('received').filter((execution) => this.#mayStart(execution));
  }

  /** What is needed to start it; null when it is not waiting. */
  load(execution: ExecutionId): Waiting | null {
    return this.#mayStart(execution) ? this.#file.read(() => this.#rows.waiting(execution), null) : null;
  }

  /** The row alone does not say it: what the ledger knows has started, whatever the row could be told (C3). */
  #mayStart(execution: ExecutionId): boolean {
    return this.#held.states.get(execution) === 'received' && this.#ledger?.stateOf(execution) == null;
  }

  /** Records starts before any of their processes exists. False as well where one of them does not wait. */
  start(starts: readonly KnownStart[]): boolean {
    if (!starts.every(({ execution }) => this.#mayStart(execution))) return false;
    const isStored = this.#recordStarts('record a start', starts, true, () => {
      const stamp = stampNow(this.#timeline);
      for (const start of starts) this.#rows.start(start, stamp);
    });
    if (isStored) for (const { execution } of starts) this.#held.set([execution], 'started');
    return isStored;
  }

  /** Takes a start back of which nothing came and nothing will: it waits again. */
  withdraw(execution: ExecutionId): boolean {
    if (!this.#file.write('take a start back', () => this.#rows.withdraw(execution))) return false;
    this.#ledger?.withdraw([execution]);
    this.#held.set([execution], 'received');
    return true;
  }

  #recordStarts(what: string, starts: readonly KnownStart[], isNothingElse: boolean, change: () => void): boolean {
    return recordStarts({ file: this.#file, ledger: this.#ledger }, { what, starts, isNothingElse, change });
  }

  /**
   * Takes in a start that this journal lost: with the whole file, or with the last moments before the machine went
   * down. Where it cannot be stored it is held all the same, and stored with its end. It began between its receipt and
   * now: no start of the agent gives its timeout anew where that receipt is known. False when it is known or over.
   */
  restore(start: KnownStart): boolean {
    if (['started', 'finished'].includes(this.#held.states.get(start.execution) ?? '')) return false;
    const received = this.#file.read(() => this.#rows.receivedAt(start.execution), null);
    const startedAt = received ?? stampNow(this.#timeline);
    const isStored = this.#file.write('take up an execution', () => this.#rows.restore(start, startedAt));
    if (!isStored) this.#unstored.started({ ...start, startedAt });
    this.#held.set([start.execution], 'started');
    return true;
  }

  /** All whose start is recorded and whose end is not. Throws where that cannot be read: none is another answer. */
  started(): readonly Started[] {
    const rows = this.#rows.started().filter(({ execution }) => !this.#unstored.hasEnded(execution));
    const others = this.#unstored.starts().map((one) => ({ ...one, ...this.#rows.limits(one.execution) }));
    return [...rows, ...others];
  }

  /**
   * Ends of executions that are over, as the ledger knows, and whose rows could not be told so at opening: to be given
   * to `finish`, until it takes them.
   */
  formerEnds(): readonly Ending[] {
    return this.#unstored.ends().map((execution) => formerEnding(this.#ledger, execution));
  }

  /** Stores ends; from here they are results to be sent. */
  finish(endings: readonly Ending[]): boolean {
    const isStored = this.#file.write(
      'store a result',
      () => {
        const stamp = stampNow(this.#timeline);
        for (const start of this.#unstored.among(endings)) this.#rows.restore(start, start.startedAt ?? stamp);
        for (const ending of endings) this.#rows.finish(ending, stamp);
      },
      'soon',
    );
    if (!isStored) return false;
    const news = endings.filter(({ execution }) => this.#held.isUnfinished(execution));
    this.#ledger?.end(news.filter(({ execution }) => !this.#unstored.hasEnded(execution)));
    this.#unstored.forget(endings.map(({ execution }) => execution));
    this.#sync.arm();
    this.#held.finished(endings);
    return true;
  }

  result(execution: ExecutionId): Finished | null {
    return this.#file.read(() => this.#rows.result(execution), null);
  }

  output(execution: ExecutionId, offset: number, bytesMax: number): OutputPiece | null {
    return this.#file.read(() => this.#rows.output(execution, offset, bytesMax), null);
  }

  forget(executions: readonly ExecutionId[]): void {
    this.erase(executions.filter((execution) => this.#held.states.get(execution) === 'finished'));
  }

  /** Drops executions in any state: the admin wants nothing of them any more. */
  erase(executions: readonly ExecutionId[]): void {
    this.#held.giveUp(executions);
    const { unwanted } = this.#held;
    if (unwanted.size === 0) return;
    // first: an agent that dies in between says its result again, whole
    this.#ledger?.confirm(this.#held.unwantedIn('finished'));
    const isStored = this.#file.write(
      'drop what admins confirmed',
      () => {
        for (const execution of unwanted) this.#rows.delete(execution);
      },
      'soon',
    );
    if (!isStored) return;
    tellGivenUp(this.#ledger, this.#held.unwantedIn('started'));
    this.#unstored.forget(unwanted);
    this.#held.forgetUnwanted();
    this.#file.shrink();
  }

  /** After failed writes: tries a small one, and drops what could not be dropped. True when the journal can write. */
  heal(): boolean {
    if (this.#ledger?.heal() === false) return false;
    if (this.#file.problem !== null && !this.#file.write('write', () => this.#rows.probe())) return false;
    this.erase([]);
    return this.problem === null;
  }

  /** Any synced transaction takes those before it along. */
  #touch(): void {
    if (this.#held.inState('finished').length > 0) this.#file.write('write', () => this.#file.touch());
  }

  close(): void {
    this.#sync.close();
    this.#file.close();
  }
}
