/** The agent's durable memory of executions: received, started, finished, forgotten. SQLite with an fsync for every transaction. */
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import type { Delivery } from '../transport/protocol/frames.ts';
import type { ExecutionId } from '../transport/protocol/ids.ts';
import { EXECUTIONS_PER_FRAME_MAX } from '../transport/protocol/limits.ts';
import { JOURNAL_SCHEMA, JOURNAL_VERSION, JournalVersionError, LATER_COLUMNS } from './journal-schema.ts';
import { pieceOf } from './output-text.ts';
import type { AgentLog, Finished, OutputPiece, Received, SessionJournal } from './ports.ts';
import { processTraceparent } from './process-trace.ts';
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

/** How a transaction ends: on the disk, or in the system's hands. The latter survives the agent's death at once, and the machine's after the next `now`. */
type Durability = 'now' | 'soon';

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
  /** Since it was opened: taken in; ended by themselves; ended as cancelled; given up by the admin, such as expired ones. */
  readonly received: number;
  readonly completed: number;
  readonly cancelled: number;
  readonly dropped: number;
}

type Row = Record<string, string | number | bigint | Uint8Array | null>;

/** Size to which the write-ahead log is made at opening, in pages of 4 KiB; it is begun anew when it is nearly full. Overwriting takes an fsync 0.11 ms where growing takes it 0.19 (measured). */
const LOG_PAGES = 256;

/** A result that no admin has confirmed by then is forced onto the disk, in ms. */
const SYNC_AFTER_MS = 100;

/**
 * Every method that writes has done so when it returns true, and has changed nothing when it returns false: the disk is
 * full or broken, which `problem` then says until a write succeeds again. Only a corrupt file throws, at opening.
 *
 * Receipts and starts are fsynced before the method returns: acknowledgements (C4) and processes (C3) follow from them.
 * Ends are fsynced SYNC_AFTER_MS later, if they are not confirmed by then, and forgetting is not: a machine that goes down in
 * between finds an execution that was started and lost, which it was a moment before as well, and an admin that has the
 * result ignores that. It halves the fsyncs of a fan-out to many agents of one disk.
 */
export class Journal implements SessionJournal {
  /** Set by who runs executions. Without it every execution waits for `start`. */
  planStarts: ((fresh: readonly Delivery[]) => StartPlan) | null = null;
  readonly #database: DatabaseSync;
  readonly #timeline: Timeline;
  readonly #log: AgentLog;
  readonly #statements = new Map<string, StatementSync>();
  /** Ids in the order of receipt, with their state; the rows hold the rest. */
  readonly #states = new Map<ExecutionId, 'received' | 'started' | 'finished'>();
  /** Confirmed while the disk refused the deletion: not to be sent again, and deleted with the next success. */
  readonly #unwanted = new Set<ExecutionId>();
  readonly #past = { received: 0, completed: 0, cancelled: 0, dropped: 0 };
  #problem: string | null = null;
  #durability: Durability = 'now';
  #sync: NodeJS.Timeout | null = null;

  /** Opens or creates the journal at `path`. Throws what SQLite throws when the file is no sound journal. */
  constructor(path: string, timeline: Timeline, log: AgentLog) {
    this.#timeline = timeline;
    this.#log = log;
    closeSync(openSync(path, 'a', 0o600)); // SQLite would let others read it; its further files follow this one
    this.#database = new DatabaseSync(path);
    try {
      this.#open();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** Null while writes succeed; else one sentence. */
  get problem(): string | null {
    return this.#problem;
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
    return this.#all('SELECT id FROM execution WHERE state = \'finished\' ORDER BY finished_order')
      .map((row) => row['id'] as ExecutionId)
      .filter((execution) => !this.#unwanted.has(execution));
  }

  receive(deliveries: readonly Delivery[]): Received {
    const known = deliveries.filter((delivery) => this.#states.has(delivery.execution));
    const room = EXECUTIONS_PER_FRAME_MAX - this.#states.size;
    const unknown = new Map(deliveries.filter((delivery) => !this.#states.has(delivery.execution)).map((delivery) => [delivery.execution, delivery]));
    const fresh = [...unknown.values()].slice(0, Math.max(0, room));
    const stored = this.#insert(fresh) ? fresh.map((delivery) => delivery.execution) : [];
    return { acknowledged: [...new Set(known.map((delivery) => delivery.execution)), ...stored], fresh: stored };
  }

  #insert(fresh: readonly Delivery[]): boolean {
    if (fresh.length === 0) return true;
    const plan = this.planStarts?.(fresh);
    const stateOf = (execution: ExecutionId) => (plan?.keepers.has(execution) === true ? 'started' : 'received');
    const isStored = this.#write('take in executions', () => {
      const stamp = stampNow(this.#timeline);
      for (const { execution, command_text: text, timeout_ms: timeoutMs, expires_in_ms: expiresInMs, traceparent = null } of fresh) {
        this.#run(
          'INSERT INTO execution (id, state, keeper, command_text, timeout_ms, expires_in_ms, traceparent, boot_id, monotonic_ms, wall_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
          execution, stateOf(execution), plan?.keepers.get(execution) ?? null, text, timeoutMs, expiresInMs, traceparent, stamp.bootId, stamp.monotonicMs, stamp.wallMs,
        );
      }
    });
    if (!isStored) {
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
    const row = this.#get('SELECT * FROM execution WHERE id = ? AND state = \'received\'', execution);
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
    const isStored = this.#write('record a start', () => {
      const stamp = stampNow(this.#timeline);
      for (const { execution, keeper } of starts) {
        this.#run(
          'UPDATE execution SET state = \'started\', keeper = ?, boot_id = ?, monotonic_ms = ?, wall_ms = ? WHERE id = ? AND state = \'received\'',
          keeper, stamp.bootId, stamp.monotonicMs, stamp.wallMs, execution,
        );
      }
    });
    if (isStored) for (const { execution } of starts) this.#states.set(execution, 'started');
    return isStored;
  }

  /** Takes in a start that an earlier, lost journal recorded. False when the execution is known or cannot be stored. */
  restore(start: { readonly execution: ExecutionId; readonly keeper: string }): boolean {
    if (this.#states.has(start.execution)) return false;
    const stamp = stampNow(this.#timeline);
    const isStored = this.#write('take up an execution', () => this.#run(
      'INSERT INTO execution (id, state, command_text, keeper, boot_id, monotonic_ms, wall_ms) VALUES (?, \'started\', \'\', ?, ?, ?, ?)',
      start.execution, start.keeper, stamp.bootId, stamp.monotonicMs, stamp.wallMs,
    ));
    if (isStored) this.#states.set(start.execution, 'started');
    return isStored;
  }

  /** All whose start is recorded and whose end is not. */
  started(): readonly Started[] {
    return this.#all('SELECT * FROM execution WHERE state = \'started\' ORDER BY receipt').map((row) => ({
      execution: row['id'] as ExecutionId,
      keeper: row['keeper'] as string,
      timeoutMs: row['timeout_ms'] as number | null,
      startedAt: stampOf(row),
      traceparent: row['traceparent'] as string | null,
    }));
  }

  /** Stores ends; from here they are results to be sent. */
  finish(endings: readonly Ending[]): boolean {
    const isStored = this.#write('store a result', () => {
      const { bootId, monotonicMs, wallMs } = stampNow(this.#timeline);
      for (const ending of endings) {
        this.#run(
          `UPDATE execution SET state = 'finished', command_text = '', outcome = ?, exit_code = ?, output = ?, output_bytes = ?, output_truncated = ?,
           ran_ms = CASE WHEN ? AND keeper IS NOT NULL THEN max(0, CASE WHEN boot_id = ? THEN ? - monotonic_ms ELSE ? - wall_ms END) END,
           finished_order = (SELECT coalesce(max(finished_order), 0) + 1 FROM execution) WHERE id = ? AND state <> 'finished'`,
          ending.outcome, ending.exitCode, ending.output, ending.output.length, ending.outputTruncated ? 1 : 0,
          ending.hasRun === false ? 0 : 1, bootId, monotonicMs, wallMs, ending.execution,
        );
      }
    }, 'soon');
    if (!isStored) return false;
    this.#syncLater();
    for (const { execution, outcome } of endings) {
      if (!this.#states.has(execution) || this.#states.get(execution) === 'finished') continue;
      this.#states.set(execution, 'finished');
      this.#past[outcome] += 1;
    }
    return true;
  }

  result(execution: ExecutionId): Finished | null {
    const row = this.#get('SELECT outcome, exit_code, output_bytes, output_truncated, traceparent, ran_ms, boot_id, monotonic_ms, wall_ms FROM execution WHERE id = ? AND state = \'finished\'', execution);
    return row === undefined ? null : {
      outcome: row['outcome'] as Finished['outcome'],
      exitCode: row['exit_code'] as number,
      outputTruncated: row['output_truncated'] === 1,
      outputBytes: row['output_bytes'] as number,
      ...this.#traceOf(row),
    };
  }

  #traceOf(row: Row): Pick<Finished, 'trace'> {
    const traceparent = processTraceparent(row['traceparent'] as string | null);
    const ranMs = row['ran_ms'] as number | null;
    return traceparent === null || ranMs === null ? {} : { trace: { traceparent, ranMs, endedMsAgo: Math.max(0, elapsedMs(stampOf(row), this.#timeline) - ranMs) } };
  }

  output(execution: ExecutionId, offset: number, bytesMax: number): OutputPiece | null {
    const row = this.#get('SELECT substr(output, ? + 1, ? + 4) AS piece FROM execution WHERE id = ? AND state = \'finished\'', offset, bytesMax, execution);
    // Of an empty BLOB, substr makes NULL.
    return row === undefined ? null : pieceOf(Buffer.from(row['piece'] as Uint8Array | null ?? []), offset, bytesMax);
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
    const isStored = this.#write('drop what admins confirmed', () => {
      for (const execution of this.#unwanted) this.#run('DELETE FROM execution WHERE id = ?', execution);
    }, 'soon');
    if (!isStored) return;
    for (const execution of this.#unwanted) this.#states.delete(execution);
    this.#unwanted.clear();
  }

  /** Tries a small write, after failed ones. True when the journal can write. */
  heal(): boolean {
    return this.#problem === null || this.#write('write', () => {
      this.#run('INSERT INTO probe (id, filler) VALUES (1, zeroblob(65536)) ON CONFLICT (id) DO UPDATE SET filler = excluded.filler');
      this.#run('DELETE FROM probe');
    });
  }

  #syncLater(): void {
    this.#sync ??= setTimeout(() => {
      this.#sync = null;
      // Any synced transaction takes those before it along. Its row changes nothing.
      if ([...this.#states.values()].includes('finished')) this.#write('write', () => this.#run('INSERT INTO probe (id) VALUES (2) ON CONFLICT (id) DO UPDATE SET filler = NULL'));
    }, SYNC_AFTER_MS).unref();
  }

  close(): void {
    if (this.#sync !== null) clearTimeout(this.#sync);
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #open(): void {
    this.#database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -1024');
    const check = this.#get('PRAGMA quick_check');
    if (check?.['quick_check'] !== 'ok') throw new Error('quick_check found damage');
    const version = this.#get('PRAGMA user_version')?.['user_version'];
    if (version === 0) this.#database.exec(`BEGIN; ${JOURNAL_SCHEMA}; PRAGMA user_version = ${JOURNAL_VERSION}; COMMIT`);
    else if (version !== JOURNAL_VERSION) throw new JournalVersionError(Number(version));
    const columns = new Set(this.#all("SELECT name FROM pragma_table_info('execution')").map((row) => row['name']));
    for (const [name, type] of Object.entries(LATER_COLUMNS)) if (!columns.has(name)) this.#database.exec(`ALTER TABLE execution ADD COLUMN ${name} ${type}`);
    this.#growLog();
    for (const row of this.#all('SELECT id, state FROM execution ORDER BY receipt')) {
      this.#states.set(row['id'] as ExecutionId, row['state'] as 'received');
    }
  }

  #growLog(): void {
    this.#setDurability('soon');
    try {
      this.#database.exec('PRAGMA wal_autocheckpoint = 0');
      for (let page = 0; page < LOG_PAGES; page += 1) this.#run('INSERT INTO probe (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET filler = NULL');
      this.#database.exec('PRAGMA wal_checkpoint(RESTART)');
    } catch {
      // A disk that has no room for it may have room for less.
    }
    this.#database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES - 16}`);
  }

  #write(what: string, change: () => void, durability: Durability = 'now'): boolean {
    try {
      this.#setDurability(durability);
      this.#database.exec('BEGIN IMMEDIATE');
      change();
      this.#database.exec('COMMIT');
      if (this.#problem !== null) this.#log.info('The journal can be written again');
      this.#problem = null;
      return true;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      const problem = `the journal cannot ${what}: ${(error as Error).message}`;
      if (this.#problem === null) this.#log.error(`The journal cannot ${what}: ${(error as Error).message}. New commands wait until it can`);
      this.#problem = problem;
      return false;
    }
  }

  #setDurability(durability: Durability): void {
    if (this.#durability === durability) return;
    this.#database.exec(`PRAGMA synchronous = ${durability === 'now' ? 'FULL' : 'NORMAL'}`);
    this.#durability = durability;
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #run(sql: string, ...values: (string | number | null | Uint8Array)[]): void {
    this.#prepared(sql).run(...values);
  }

  #get(sql: string, ...values: (string | number)[]): Row | undefined {
    return this.#prepared(sql).get(...values);
  }

  #all(sql: string): Row[] {
    return this.#prepared(sql).all();
  }
}

function stampOf(row: Row): Stamp {
  return { bootId: row['boot_id'] as string, monotonicMs: row['monotonic_ms'] as number, wallMs: row['wall_ms'] as number };
}
