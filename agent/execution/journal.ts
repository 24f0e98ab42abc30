/**
 * The agent's durable memory of executions: received, started, finished, forgotten. SQLite with an fsync for every
 * transaction.
 */
import type { Delivery } from '../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { EXECUTIONS_PER_FRAME_MAX, EXIT_CANCELLED, EXIT_INTERRUPTED } from '../../transport/protocol/limits.ts';
import { JournalFile } from './journal-file.ts';
import type { Durability, JournalRow } from './journal-file.ts';
import type { Ledger, LedgerStart, Tombstone } from './ledger.ts';
import { pieceOf } from './output-text.ts';
import type { AgentLog, Finished, OutputPiece, Received, SessionJournal } from '../ports.ts';
import { processTraceparent } from './process-trace.ts';
import { neverStarted } from './running-execution.ts';
import { elapsedMs, stampNow } from './timeline.ts';
import type { Stamp, Timeline } from './timeline.ts';

/** An execution that has not started. */
export interface Waiting {
  readonly execution: ExecutionId;
  readonly commandText: string;
  readonly timeoutMs: number | null;
  /** The admin gave it up by now: it must not start (C8). */
  readonly isExpired: boolean;
  /** As delivered; null: nobody traces it. */
  readonly traceparent: string | null;
}

/** An execution whose start is recorded, so that it never starts again (C3). */
export interface Started {
  readonly execution: ExecutionId;
  /** Name of its keeper's directory. */
  readonly keeper: string;
  readonly timeoutMs: number | null;
  readonly startedAt: Stamp;
  readonly traceparent: string | null;
}

/** Which of new executions are recorded as started in the transaction that takes them in. */
export interface StartPlan {
  /** Execution → name of its keeper. */
  readonly keepers: ReadonlyMap<ExecutionId, string>;
  stored(): void;
  /** Nothing was stored. */
  refused(): void;
}

/** What `finish` stores. */
export interface Ending {
  readonly execution: ExecutionId;
  readonly outcome: Finished['outcome'];
  readonly exitCode: number;
  readonly output: Buffer;
  readonly outputTruncated: boolean;
  /** False when no process ever ran. */
  readonly hasRun?: boolean;
}

/** What a journal holds now, and what became of executions since it was opened. */
export interface JournalCounts {
  /** Not started. */
  readonly waiting: number;
  readonly started: number;
  /** Ended, and not confirmed by an admin yet. */
  readonly unconfirmed: number;
  /**
   * Since it was opened: taken in; ended by themselves; ended as cancelled; given up by the admin, such as expired
   * ones.
   */
  readonly received: number;
  readonly completed: number;
  readonly cancelled: number;
  readonly dropped: number;
}

/** A result that no admin has confirmed by then is forced onto the disk, in ms. */
const SYNC_AFTER_MS = 100;

/**
 * Every method that writes has done so when it returns true, and has changed nothing when it returns false: the disk is
 * full or broken, which `problem` then says until a write succeeds again. Only a corrupt file throws, at opening.
 *
 * Receipts and starts are fsynced before the method returns: acknowledgements (C4) and processes (C3) follow from them.
 * A start is fsynced in the ledger, which a damaged journal does not touch; the journal's own record of it follows with
 * the next fsync.
 * Ends are fsynced SYNC_AFTER_MS later, if they are not confirmed by then, and forgetting is not: a machine that goes
 * down in between finds an execution that was started and lost, which it was a moment before as well, and an admin that
 * has the result ignores that. It halves the fsyncs of a fan-out to many agents of one disk.
 */
export class Journal implements SessionJournal {
  /** Set by who runs executions. Without it every execution waits for `start`. */
  planStarts: ((fresh: readonly Delivery[]) => StartPlan) | null = null;
  readonly #file: JournalFile;
  readonly #ledger: Ledger | null;
  readonly #timeline: Timeline;
  /** Ids in the order of receipt, with their state; the rows hold the rest. */
  readonly #states = new Map<ExecutionId, 'received' | 'started' | 'finished'>();
  /** Confirmed while the disk refused the deletion: not to be sent again, and deleted with the next success. */
  readonly #unwanted = new Set<ExecutionId>();
  readonly #past = { received: 0, completed: 0, cancelled: 0, dropped: 0 };
  #sync: NodeJS.Timeout | null = null;

  /**
   * Opens or creates the journal at `path`. `ledger` remembers what ran when it has forgotten; it stays its owner's to
   * close. Throws what SQLite throws when the file is no sound journal.
   */
  constructor(path: string, timeline: Timeline, log: AgentLog, ledger: Ledger | null = null) {
    this.#timeline = timeline;
    this.#ledger = ledger;
    this.#file = new JournalFile(path, log);
    for (const row of this.#file.all('SELECT id, state FROM execution ORDER BY receipt')) {
      this.#states.set(row['id'] as ExecutionId, row['state'] as 'received');
    }
    if (ledger !== null) this.#compare(ledger);
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
    return this.#file
      .all("SELECT id FROM execution WHERE state = 'finished' ORDER BY finished_order")
      .map((row) => row['id'] as ExecutionId)
      .filter((execution) => !this.#unwanted.has(execution));
  }

  receive(deliveries: readonly Delivery[]): Received {
    const known = deliveries.filter((delivery) => this.#states.has(delivery.execution));
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
    const answered = this.#recall(ran.map((delivery) => delivery.execution));
    const stored = this.#insert(unheard) ? unheard.map((delivery) => delivery.execution) : [];
    return {
      acknowledged: [...new Set(known.map((delivery) => delivery.execution)), ...answered, ...stored],
      fresh: stored,
      ...(answered.length > 0 && { answered }),
    };
  }

  recall(executions: readonly ExecutionId[]): readonly ExecutionId[] {
    const room = Math.max(0, EXECUTIONS_PER_FRAME_MAX - this.#states.size);
    return this.#recall([...new Set(executions)].filter((execution) => !this.#states.has(execution)).slice(0, room));
  }

  /** Puts results back of executions that the ledger knows and the journal does not. Returns those that are there. */
  #recall(executions: readonly ExecutionId[]): readonly ExecutionId[] {
    if (executions.length === 0) return [];
    const stamp = stampNow(this.#timeline);
    const isStored = this.#file.write('answer for executions of before', () => {
      for (const execution of executions) {
        const { outcome, exitCode, text } =
          this.#ledger?.stateOf(execution) == null ? LOST : answerOf(this.#ledger.tombstone(execution));
        const output = Buffer.from(text);
        this.#file.run('DELETE FROM execution WHERE id = ?', execution);
        this.#file.run(
          `INSERT INTO execution (id, state, command_text, outcome, exit_code, output, output_bytes, output_truncated, finished_order, boot_id, monotonic_ms, wall_ms)
           VALUES (?, 'finished', '', ?, ?, ?, ?, ?, (SELECT coalesce(max(finished_order), 0) + 1 FROM execution), ?, ?, ?)`,
          execution,
          outcome,
          exitCode,
          output,
          output.length,
          Number(text !== ''),
          stamp.bootId,
          stamp.monotonicMs,
          stamp.wallMs,
        );
      }
    });
    if (!isStored) return [];
    for (const execution of executions) this.#states.set(execution, 'finished');
    return executions;
  }

  /** At opening: what one of the two files lost, the other has. */
  #compare(ledger: Ledger): void {
    for (const { execution, keeper } of ledger.started())
      this.restore({ execution, keeper: keeper ?? `none-${execution}` });
    const room = Math.max(0, EXECUTIONS_PER_FRAME_MAX - this.#states.size);
    this.#recall(
      ledger
        .unconfirmed()
        .filter((execution) => !this.#states.has(execution))
        .slice(0, room),
    );
    const inState = (wanted: string) =>
      [...this.#states].filter(([, state]) => state === wanted).map(([execution]) => execution);
    const isOver = (execution: ExecutionId) => ['ended', 'confirmed'].includes(ledger.stateOf(execution) ?? '');
    // the machine went down before the journal's end was on its disk
    this.#recall([...inState('received'), ...inState('started')].filter(isOver));
    const unknown = this.started().filter(({ execution }) => ledger.stateOf(execution) === null);
    if (unknown.length > 0) ledger.start(unknown);
    ledger.end(
      inState('finished')
        .filter((execution) => !isOver(execution))
        .map((execution) => this.#endingOf(execution)),
    );
  }

  #endingOf(execution: ExecutionId): Pick<Ending, 'execution' | 'outcome' | 'exitCode' | 'output'> {
    const row = this.#file.get('SELECT outcome, exit_code, output FROM execution WHERE id = ?', execution);
    return {
      execution,
      outcome: row?.['outcome'] as Ending['outcome'],
      exitCode: Number(row?.['exit_code']),
      output: Buffer.from((row?.['output'] as Uint8Array | null) ?? []),
    };
  }

  #insert(fresh: readonly Delivery[]): boolean {
    if (fresh.length === 0) return true;
    const plan = this.planStarts?.(fresh);
    const stateOf = (execution: ExecutionId) => (plan?.keepers.has(execution) === true ? 'started' : 'received');
    const starts = [...(plan?.keepers ?? [])].map(([execution, keeper]) => ({ execution, keeper }));
    if (!this.#noteStarts(starts)) {
      plan?.refused();
      return false;
    }
    const isStored = this.#file.write(
      'take in executions',
      () => {
        const stamp = stampNow(this.#timeline);
        for (const {
          execution,
          command_text: text,
          timeout_ms: timeoutMs,
          expires_in_ms: expiresInMs,
          traceparent = null,
        } of fresh) {
          this.#file.run(
            'INSERT INTO execution (id, state, keeper, command_text, timeout_ms, expires_in_ms, traceparent, boot_id, monotonic_ms, wall_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
            execution,
            stateOf(execution),
            plan?.keepers.get(execution) ?? null,
            text,
            timeoutMs,
            expiresInMs,
            traceparent,
            stamp.bootId,
            stamp.monotonicMs,
            stamp.wallMs,
          );
        }
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
    const row = this.#file.get("SELECT * FROM execution WHERE id = ? AND state = 'received'", execution);
    if (row === undefined) return null;
    const expiresInMs = row['expires_in_ms'] as number | null;
    return {
      execution,
      commandText: row['command_text'] as string,
      timeoutMs: row['timeout_ms'] as number | null,
      isExpired: expiresInMs !== null && elapsedMs(stampOf(row), this.#timeline) >= expiresInMs,
      traceparent: row['traceparent'] as string | null,
    };
  }

  /** Records starts before any of their processes exists. */
  start(starts: readonly { readonly execution: ExecutionId; readonly keeper: string }[]): boolean {
    if (!this.#noteStarts(starts)) return false;
    const isStored = this.#file.write(
      'record a start',
      () => {
        const stamp = stampNow(this.#timeline);
        for (const { execution, keeper } of starts) {
          this.#file.run(
            "UPDATE execution SET state = 'started', keeper = ?, boot_id = ?, monotonic_ms = ?, wall_ms = ? WHERE id = ? AND state = 'received'",
            keeper,
            stamp.bootId,
            stamp.monotonicMs,
            stamp.wallMs,
            execution,
          );
        }
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

  /**
   * A start that is in the ledger is on the disk already: the journal's own may follow, so that both together cost one
   * fsync.
   */
  #afterLedger(): Durability {
    return this.#ledger === null ? 'now' : 'soon';
  }

  /**
   * Takes in a start that this journal lost: with the whole file, or with the last moments before the machine went
   * down. False when it is known, the execution is over, or it cannot be stored.
   */
  restore(start: { readonly execution: ExecutionId; readonly keeper: string }): boolean {
    if (['started', 'finished'].includes(this.#states.get(start.execution) ?? '')) return false;
    const stamp = stampNow(this.#timeline);
    const isStored = this.#file.write('take up an execution', () =>
      this.#file.run(
        `INSERT INTO execution (id, state, command_text, keeper, boot_id, monotonic_ms, wall_ms) VALUES (?, 'started', '', ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET state = excluded.state, keeper = excluded.keeper, boot_id = excluded.boot_id, monotonic_ms = excluded.monotonic_ms, wall_ms = excluded.wall_ms`,
        start.execution,
        start.keeper,
        stamp.bootId,
        stamp.monotonicMs,
        stamp.wallMs,
      ),
    );
    if (isStored) this.#states.set(start.execution, 'started');
    return isStored;
  }

  /** All whose start is recorded and whose end is not. */
  started(): readonly Started[] {
    return this.#file.all("SELECT * FROM execution WHERE state = 'started' ORDER BY receipt").map((row) => ({
      execution: row['id'] as ExecutionId,
      keeper: row['keeper'] as string,
      timeoutMs: row['timeout_ms'] as number | null,
      startedAt: stampOf(row),
      traceparent: row['traceparent'] as string | null,
    }));
  }

  /** Stores ends; from here they are results to be sent. */
  finish(endings: readonly Ending[]): boolean {
    const isStored = this.#file.write(
      'store a result',
      () => {
        const { bootId, monotonicMs, wallMs } = stampNow(this.#timeline);
        for (const ending of endings) {
          this.#file.run(
            `UPDATE execution SET state = 'finished', command_text = '', outcome = ?, exit_code = ?, output = ?, output_bytes = ?, output_truncated = ?,
           ran_ms = CASE WHEN ? AND keeper IS NOT NULL THEN max(0, CASE WHEN boot_id = ? THEN ? - monotonic_ms ELSE ? - wall_ms END) END,
           finished_order = (SELECT coalesce(max(finished_order), 0) + 1 FROM execution) WHERE id = ? AND state <> 'finished'`,
            ending.outcome,
            ending.exitCode,
            ending.output,
            ending.output.length,
            ending.outputTruncated ? 1 : 0,
            ending.hasRun === false ? 0 : 1,
            bootId,
            monotonicMs,
            wallMs,
            ending.execution,
          );
        }
      },
      'soon',
    );
    if (!isStored) return false;
    this.#ledger?.end(
      endings.filter(({ execution }) => this.#states.has(execution) && this.#states.get(execution) !== 'finished'),
    );
    this.#syncLater();
    for (const { execution, outcome } of endings) {
      if (!this.#states.has(execution) || this.#states.get(execution) === 'finished') continue;
      this.#states.set(execution, 'finished');
      this.#past[outcome] += 1;
    }
    return true;
  }

  result(execution: ExecutionId): Finished | null {
    const row = this.#file.get(
      "SELECT outcome, exit_code, output_bytes, output_truncated, traceparent, ran_ms, boot_id, monotonic_ms, wall_ms FROM execution WHERE id = ? AND state = 'finished'",
      execution,
    );
    return row === undefined
      ? null
      : {
          outcome: row['outcome'] as Finished['outcome'],
          exitCode: row['exit_code'] as number,
          outputTruncated: row['output_truncated'] === 1,
          outputBytes: row['output_bytes'] as number,
          ...this.#traceOf(row),
        };
  }

  #traceOf(row: JournalRow): Pick<Finished, 'trace'> {
    const traceparent = processTraceparent(row['traceparent'] as string | null);
    const ranMs = row['ran_ms'] as number | null;
    return traceparent === null || ranMs === null
      ? {}
      : { trace: { traceparent, ranMs, endedMsAgo: Math.max(0, elapsedMs(stampOf(row), this.#timeline) - ranMs) } };
  }

  output(execution: ExecutionId, offset: number, bytesMax: number): OutputPiece | null {
    const row = this.#file.get(
      "SELECT substr(output, ? + 1, ? + 4) AS piece FROM execution WHERE id = ? AND state = 'finished'",
      offset,
      bytesMax,
      execution,
    );
    // Of an empty BLOB, substr makes NULL.
    return row === undefined ? null : pieceOf(Buffer.from((row['piece'] as Uint8Array | null) ?? []), offset, bytesMax);
  }

  forget(executions: readonly ExecutionId[]): void {
    this.erase(executions.filter((execution) => this.#states.get(execution) === 'finished'));
  }

  /** Drops executions in any state: the admin wants nothing of them any more. */
  erase(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      if (!this.#states.has(execution) || this.#unwanted.has(execution)) continue;
      this.#unwanted.add(execution);
      if (this.#states.get(execution) !== 'finished') this.#past.dropped += 1;
    }
    if (this.#unwanted.size === 0) return;
    const isStored = this.#file.write(
      'drop what admins confirmed',
      () => {
        for (const execution of this.#unwanted) this.#file.run('DELETE FROM execution WHERE id = ?', execution);
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
    return (
      this.#file.problem === null ||
      this.#file.write('write', () => {
        this.#file.run(
          'INSERT INTO probe (id, filler) VALUES (1, zeroblob(65536)) ON CONFLICT (id) DO UPDATE SET filler = excluded.filler',
        );
        this.#file.run('DELETE FROM probe');
      })
    );
  }

  #syncLater(): void {
    this.#sync ??= setTimeout(() => {
      this.#sync = null;
      // Any synced transaction takes those before it along. Its row changes nothing.
      if ([...this.#states.values()].includes('finished'))
        this.#file.write('write', () =>
          this.#file.run('INSERT INTO probe (id) VALUES (2) ON CONFLICT (id) DO UPDATE SET filler = NULL'),
        );
    }, SYNC_AFTER_MS).unref();
  }

  close(): void {
    if (this.#sync !== null) clearTimeout(this.#sync);
    this.#file.close();
  }
}

/** Of an execution that this machine had, as an admin knows, and that neither file knows. */
const LOST = { outcome: 'cancelled', exitCode: EXIT_INTERRUPTED, text: '' } as const;

/**
 * What is said of an execution whose output is kept no more. Without an ending it was lost with the machine, as after
 * any power cut.
 */
function answerOf(tombstone: Tombstone | null): {
  readonly outcome: Ending['outcome'];
  readonly exitCode: number;
  readonly text: string;
} {
  if (tombstone === null)
    return {
      outcome: 'cancelled',
      exitCode: EXIT_INTERRUPTED,
      text: '[This execution was started on this machine before. How it ended is not known any more, nor is its output; it was not run again.]\n',
    };
  const { outcome, exitCode, outputBytes, outputHash } = tombstone;
  return {
    outcome,
    exitCode,
    text: `[This execution ended on this machine before and was not run again. Its output is not kept any more: it had ${outputBytes} bytes, SHA-256 ${outputHash}.]\n`,
  };
}

function stampOf(row: JournalRow): Stamp {
  return {
    bootId: row['boot_id'] as string,
    monotonicMs: row['monotonic_ms'] as number,
    wallMs: row['wall_ms'] as number,
  };
}
