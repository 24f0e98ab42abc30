/** The ledger's file: slots of one size, overwritten in place, in a file that is as large as it will be. */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { AgentProblem, EXIT_STATUS } from '../../problem.ts';
import { decodeHeader, decodeRecord, encodeHeader, LEDGER_VERSION, RECORD_BYTES } from './ledger-record.ts';
import type { LedgerRecord } from './ledger-record.ts';

/**
 * Executions that are remembered, at most; the oldest ones that ended make room. 8 MiB: one every 40 s for the 30 days
 * for which admins keep them by default (EXECUTION_RETENTION_DAYS).
 *
 * By number alone, not by time: the file is as large as it will be in any case, so that forgetting sooner would save
 * nothing, and a dump may be older than any retention. A machine that runs more remembers them for less long: at one a
 * second for 18 h.
 */
export const LEDGER_RECORDS_MAX = 65_536;

/** Records that a new file has room for; it doubles when it is full. */
const LEDGER_RECORDS_MIN = 1_024;

/** What a slot holds where something was written. */
type Content = LedgerRecord | 'damaged';

/** One file, opened when there is one and made when there is none. Its methods throw what the system throws. */
export class LedgerFile {
  readonly #path: string;
  #file: number | null = null;
  #slots = 0;
  #isDirty = false;

  constructor(path: string) {
    this.#path = path;
  }

  get isOpen(): boolean {
    return this.#file !== null;
  }

  /** Records that it has room for. */
  get slots(): number {
    return this.#slots;
  }

  /** Whether something was written that may not be on the disk. */
  get isDirty(): boolean {
    return this.#isDirty;
  }

  /**
   * Opens what is there, and tells what each slot holds. `damaged`: it is no ledger, and is not open. Throws an
   * `AgentProblem` when it belongs to a newer agent.
   */
  open(found: (slot: number, content: Content) => void): 'opened' | 'missing' | 'damaged' {
    if (!existsSync(this.#path)) return 'missing';
    this.#file = openSync(this.#path, 'r+');
    if (this.#load(this.#file, found)) return 'opened';
    closeSync(this.#file);
    this.#file = null;
    return 'damaged';
  }

  #load(file: number, found: (slot: number, content: Content) => void): boolean {
    const content = Buffer.alloc(fstatSync(file).size);
    if (readSync(file, content, 0, content.length, 0) < RECORD_BYTES) return false;
    const version = decodeHeader(content.subarray(0, RECORD_BYTES));
    if (version === null) return false;
    if (version > LEDGER_VERSION)
      throw new AgentProblem(
        `${this.#path}: the ledger has version ${version}, this agent knows ${LEDGER_VERSION}: install a newer agent`,
        EXIT_STATUS.failed,
      );
    this.#slots = Math.min(LEDGER_RECORDS_MAX, Math.floor(content.length / RECORD_BYTES) - 1);
    for (let slot = 0; slot < this.#slots; slot += 1) {
      const record = decodeRecord(content.subarray(RECORD_BYTES * (slot + 1), RECORD_BYTES * (slot + 2)));
      if (record !== null) found(slot, record);
    }
    return true;
  }

  /** Makes the file, whole, before anything is written to it. */
  make(): void {
    const temporary = `${this.#path}.new`;
    const file = openSync(temporary, 'w+', 0o600);
    try {
      const content = Buffer.concat([encodeHeader(), Buffer.alloc(RECORD_BYTES * LEDGER_RECORDS_MIN)]);
      for (let written = 0; written < content.length;)
        written += writeSync(file, content, written, content.length - written, written);
      fsyncSync(file);
      renameSync(temporary, this.#path);
      const directory = openSync(dirname(this.#path), 'r');
      fsyncSync(directory);
      closeSync(directory);
    } catch (error) {
      closeSync(file);
      throw error;
    }
    this.#file = file;
    this.#slots = LEDGER_RECORDS_MIN;
  }

  /** Null: it cannot be read, or is damaged. */
  read(slot: number): LedgerRecord | null {
    if (this.#file === null) return null;
    const bytes = Buffer.alloc(RECORD_BYTES);
    try {
      readSync(this.#file, bytes, 0, RECORD_BYTES, RECORD_BYTES * (slot + 1));
    } catch {
      return null; // a broken disk: that it ran is still known
    }
    const record = decodeRecord(bytes);
    return record === 'damaged' ? null : record;
  }

  write(slot: number, record: Buffer): void {
    writeSync(this.#opened(), record, 0, RECORD_BYTES, RECORD_BYTES * (slot + 1));
    this.#isDirty = true;
  }

  /** Writes the header as it stands there: an fsync alone succeeds on a disk that takes no writes. */
  touch(): void {
    const header = Buffer.alloc(RECORD_BYTES);
    readSync(this.#opened(), header, 0, RECORD_BYTES, 0);
    writeSync(this.#opened(), header, 0, RECORD_BYTES, 0);
    this.flush();
  }

  /** False: it is as large as it may be. */
  grow(): boolean {
    if (this.#slots >= LEDGER_RECORDS_MAX) return false;
    const slots = Math.min(LEDGER_RECORDS_MAX, Math.max(LEDGER_RECORDS_MIN, this.#slots * 2));
    const file = this.#opened();
    const zeros = Buffer.alloc(RECORD_BYTES * (slots - this.#slots));
    for (let written = 0; written < zeros.length;)
      written += writeSync(file, zeros, written, zeros.length - written, RECORD_BYTES * (this.#slots + 1) + written);
    fsyncSync(file);
    this.#slots = slots;
    return true;
  }

  flush(): void {
    fdatasyncSync(this.#opened()); // its size does not change here, so that no metadata has to go along
    this.#isDirty = false;
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #opened(): number {
    if (this.#file === null) throw new Error('it is not open');
    return this.#file;
  }
}
