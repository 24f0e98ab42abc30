/** The journal's file: SQLite with an fsync where one is asked for, and refusals instead of throws. */
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { isDamage, JournalDamageError } from './damage.ts';
import { JOURNAL_SCHEMA, JOURNAL_VERSION, JournalVersionError, LATER_COLUMNS } from './journal-schema.ts';
import type { Log } from '../../../transport/net/log.ts';

/**
 * How a transaction ends: on the disk, or in the system's hands. The latter survives the agent's death at once, and the
 * machine's after the next `now`.
 */
export type Durability = 'now' | 'soon';

/** A row, as SQLite gives it. */
export type JournalRow = Record<string, string | number | bigint | Uint8Array | null>;

/** SQLite's, unless a file was made with others. */
const PAGE_BYTES = 4_096;

/**
 * Size to which the write-ahead log is made at opening, in pages of 4 KiB; it is begun anew when it is nearly full.
 * Overwriting takes an fsync 0.11 ms where growing takes it 0.19 (measured).
 */
export const LOG_PAGES = 256;

/** The same in bytes: the log has 24 beside each page, and 32 before them. Source: sqlite.org/walformat.html. */
const LOG_BYTES = 32 + LOG_PAGES * (24 + PAGE_BYTES);

/** Room that deleted rows leave in the file for later ones, in bytes: what is beyond goes back to the disk. */
export const FREE_BYTES_MAX = 16_777_216;

/** One open file. */
export class JournalFile {
  readonly #database: DatabaseSync;
  readonly #log: Log;
  readonly #statements = new Map<string, StatementSync>();
  readonly #unreadable = Promise.withResolvers<void>();
  #problem: string | null = null;
  #isUnreadable = false;
  #durability: Durability = 'now';

  /** Opens or creates it. Throws what SQLite throws when it is no sound journal. */
  constructor(path: string, log: Log) {
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

  /** Null while it is read and writes succeed; else one sentence. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Resolves once it was read in vain or is found damaged: from then on nothing is read from it or written to it. */
  get unreadable(): Promise<void> {
    return this.#unreadable.promise;
  }

  /** What `look` finds in it; `otherwise` where it cannot be read. */
  read<T>(look: () => T, otherwise: T): T {
    if (this.#isUnreadable) return otherwise;
    try {
      return look();
    } catch (error) {
      this.#giveUp(error as Error);
      return otherwise;
    }
  }

  /** One transaction. False: nothing changed, and `problem` says why. */
  write(what: string, change: () => void, durability: Durability = 'now'): boolean {
    if (this.#isUnreadable) return false;
    try {
      this.#takeBack();
      this.#setDurability(durability);
      this.#database.exec('BEGIN IMMEDIATE');
      change();
      this.#database.exec('COMMIT');
      if (this.#problem !== null) this.#log.info({}, 'The journal can be written again');
      this.#problem = null;
      return true;
    } catch (error) {
      this.#takeBackNowOrLater();
      if (isDamage(error)) {
        this.#giveUp(error as Error);
        return false;
      }
      const problem = `the journal cannot ${what}: ${(error as Error).message}`;
      if (this.#problem === null)
        this.#log.error({}, `The journal cannot ${what}: ${(error as Error).message}. New commands wait until it can`);
      this.#problem = problem;
      return false;
    }
  }

  #giveUp({ message }: Error): void {
    this.#problem = `the journal cannot be read: ${message}`;
    this.#isUnreadable = true;
    this.#log.error(
      {},
      `The journal cannot be read: ${message}. The agent ends, so that its next start sets a damaged journal aside; what runs goes on`,
    );
    this.#unreadable.resolve();
  }

  #takeBack(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  /** A disk that refuses even this is asked again before the next transaction. */
  #takeBackNowOrLater(): void {
    try {
      this.#takeBack();
    } catch {
      // What refused the transaction is the problem that is told.
    }
  }

  run(sql: string, ...values: (string | number | null | Uint8Array)[]): void {
    this.#prepared(sql).run(...values);
  }

  get(sql: string, ...values: (string | number)[]): JournalRow | undefined {
    return this.#prepared(sql).get(...values);
  }

  all(sql: string): JournalRow[] {
    return this.#prepared(sql).all();
  }

  /**
   * Gives the disk back what deleted rows took, where that is more than FREE_BYTES_MAX. What is left is written anew,
   * in one transaction: only once it fits into the log, so that this takes a moment and no room.
   */
  shrink(): void {
    if (this.#isUnreadable) return;
    try {
      const free = this.#pragma('freelist_count');
      if (free * PAGE_BYTES <= FREE_BYTES_MAX || this.#pragma('page_count') - free > LOG_PAGES) return;
      this.#setDurability('now');
      this.#database.exec('PRAGMA wal_checkpoint(RESTART)');
      this.#database.exec('VACUUM');
      this.#database.exec('PRAGMA wal_checkpoint(RESTART)');
    } catch (error) {
      if (isDamage(error)) this.#giveUp(error as Error);
      // Else it stays as large as it is, and is tried again with the next deletion.
    }
  }

  /**
   * Changes a row that nobody reads: SQLite writes and syncs nothing for a transaction that leaves every page as it
   * was.
   */
  touch(): void {
    this.run(
      'INSERT INTO probe (id, filler) VALUES (2, randomblob(8)) ON CONFLICT (id) DO UPDATE SET filler = excluded.filler',
    );
  }

  close(): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #open(): void {
    this.#database.exec(
      `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -1024;
       PRAGMA journal_size_limit = ${LOG_BYTES}; PRAGMA temp_store = MEMORY`,
    );
    const check = this.get('PRAGMA integrity_check');
    if (check?.['integrity_check'] !== 'ok') throw new JournalDamageError('integrity_check found damage');
    const version = this.#pragma('user_version');
    if (version === 0)
      this.#database.exec(`BEGIN; ${JOURNAL_SCHEMA}; PRAGMA user_version = ${JOURNAL_VERSION}; COMMIT`);
    else if (version !== JOURNAL_VERSION) throw new JournalVersionError(version);
    const columns = new Set(this.all("SELECT name FROM pragma_table_info('execution')").map((row) => row['name']));
    for (const [name, type] of Object.entries(LATER_COLUMNS))
      if (!columns.has(name)) this.#database.exec(`ALTER TABLE execution ADD COLUMN ${name} ${type}`);
    this.shrink();
    this.#growLog();
  }

  #growLog(): void {
    this.#setDurability('soon');
    try {
      this.#database.exec('PRAGMA wal_autocheckpoint = 0');
      // What a killed agent left in its log is overwritten then: behind it there may be no room.
      this.#database.exec('PRAGMA wal_checkpoint(RESTART)');
      for (let page = 0; page < LOG_PAGES; page += 1) this.touch();
      this.#database.exec('PRAGMA wal_checkpoint(RESTART)');
    } catch {
      this.#giveRoomBack();
    }
    this.#database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES - 16}`);
  }

  /** A disk that has no room for the log made ahead may have room for what the log gets. */
  #giveRoomBack(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Nor has it room for this: the first write says so.
    }
  }

  #setDurability(durability: Durability): void {
    if (this.#durability === durability) return;
    this.#database.exec(`PRAGMA synchronous = ${durability === 'now' ? 'FULL' : 'NORMAL'}`);
    this.#durability = durability;
  }

  #pragma(name: 'user_version' | 'freelist_count' | 'page_count'): number {
    return Number(this.get(`PRAGMA ${name}`)?.[name]);
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
