/**
 * What this machine ran: one small record an execution, in a file of its own, so that a damaged journal forgets no
 * start (C3).
 *
 * A record is durable before the process of its execution exists, and takes its ending later; it stays long after the
 * journal has forgotten the execution, so that one which a database that was set back sends again is answered and not
 * run. Records are overwritten in place, each with a checksum, in a file that is as large as it will be: a full disk
 * refuses no record, and damage costs the records that it hits.
 */
import { createHash } from 'node:crypto';
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
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { Ending } from './execution.ts';
import {
  decodeHeader,
  decodeRecord,
  encodeHeader,
  encodeRecord,
  LEDGER_VERSION,
  RECORD_BYTES,
} from './ledger-record.ts';
import type { LedgerRecord, RecordState } from './ledger-record.ts';
import type { AgentLog } from '../ports.ts';
import { AgentProblem, EXIT_STATUS, systemProblem } from '../problem.ts';

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

/** Endings reach the disk after this at the latest, in ms, if no start takes them along before. */
const SYNC_AFTER_MS = 5_000;

/** How an execution ended, without its output. */
export interface Tombstone {
  readonly outcome: Ending['outcome'];
  readonly exitCode: number;
  /** Of the output as it was kept, and SHA-256 of it in hex. */
  readonly outputBytes: number;
  readonly outputHash: string;
}

/** A start that is about to happen, or that happened. `keeper` null: it is not known any more. */
export interface LedgerStart {
  readonly execution: ExecutionId;
  readonly keeper: string | null;
}

interface Place {
  readonly slot: number;
  readonly order: number;
  readonly state: RecordState;
}

/** No method throws after opening: what cannot be written is refused, and `problem` says so until it can. */
export class Ledger {
  /** The file was not there, or nothing in it could be read: what ran before is not known from here. */
  readonly isNew: boolean;
  readonly #path: string;
  readonly #log: AgentLog;
  readonly #places = new Map<ExecutionId, Place>();
  readonly #holders = new Map<number, ExecutionId>();
  #file: number | null = null;
  #slots = 0;
  #cursor = 0;
  #order = 0;
  #problem: string | null = null;
  #isDirty = false;
  #sync: NodeJS.Timeout | null = null;

  /**
   * Opens or creates the file at `path`; a damaged one is set aside. Throws an `AgentProblem` when it belongs to a
   * newer agent.
   */
  constructor(path: string, log: AgentLog) {
    this.#path = path;
    this.#log = log;
    this.isNew = !this.#open();
  }

  get problem(): string | null {
    return this.#problem;
  }

  /** What is known of an execution; null: nothing. */
  stateOf(execution: ExecutionId): 'started' | 'ended' | 'confirmed' | null {
    return this.#places.get(execution)?.state ?? null;
  }

  /** All that started and of which no ending is known. */
  started(): readonly LedgerStart[] {
    return this.#executionsIn('started').map((execution) => ({
      execution,
      keeper: this.#read(execution)?.keeper ?? null,
    }));
  }

  /** All that ended and of which no admin confirmed that it has the result. */
  unconfirmed(): readonly ExecutionId[] {
    return this.#executionsIn('ended');
  }

  /** How it ended; null when that is not known. */
  tombstone(execution: ExecutionId): Tombstone | null {
    const record = this.#read(execution);
    if (record === null || record.state === 'started' || record.outcome === null) return null;
    return {
      outcome: record.outcome,
      exitCode: record.exitCode,
      outputBytes: record.outputBytes,
      outputHash: record.outputHash.toString('hex'),
    };
  }

  /** Records starts, durably when it returns true. False: none of them may happen. */
  start(starts: readonly LedgerStart[]): boolean {
    return this.#write('record a start', () => {
      try {
        for (const { execution, keeper } of starts)
          this.#put(execution, { ...NOTHING, execution, state: 'started', keeper });
        this.#flush();
      } catch (error) {
        this.#takeBack(starts.map(({ execution }) => execution)); // sent again they are to be run, not answered
        throw error;
      }
    });
  }

  /** Takes starts back of which nothing came. */
  withdraw(executions: readonly ExecutionId[]): void {
    this.#write('take a start back', () => this.#takeBack(executions));
  }

  /** Records endings. They survive the agent's death at once, and the machine's soon. */
  end(endings: readonly Pick<Ending, 'execution' | 'outcome' | 'exitCode' | 'output'>[]): void {
    this.#write('record an end', () => {
      for (const { execution, outcome, exitCode, output } of endings) {
        this.#put(execution, {
          execution,
          state: 'ended',
          keeper: null,
          outcome,
          exitCode,
          outputBytes: output.length,
          outputHash: createHash('sha256').update(output).digest(),
        });
      }
      this.#flushLater();
    });
  }

  /** An admin has the results of these: from here they are remembered only in case they are sent again. */
  confirm(executions: readonly ExecutionId[]): void {
    this.#write('record a confirmation', () => {
      for (const execution of executions) {
        const record = this.#read(execution);
        if (record?.state === 'ended') this.#put(execution, { ...record, state: 'confirmed' });
      }
      this.#flushLater();
    });
  }

  /** Tries to write, after failed tries. True when it can. */
  heal(): boolean {
    return this.#problem === null || this.#write('be written', () => this.#flush());
  }

  close(): void {
    if (this.#sync !== null) clearTimeout(this.#sync);
    if (this.#file === null) return;
    if (this.#isDirty) this.#write('be written', () => this.#flush());
    closeSync(this.#file);
    this.#file = null;
  }

  /** False when it begins anew. */
  #open(): boolean {
    try {
      if (existsSync(this.#path)) {
        this.#file = openSync(this.#path, 'r+');
        if (this.#load(this.#file)) return true;
        closeSync(this.#file);
        this.#file = null;
        const aside = `${this.#path}.damaged-${new Date().toISOString().replaceAll(/[:.]/gu, '-')}`;
        renameSync(this.#path, aside);
        this.#log.error(`The ledger of executions is damaged; it was kept as ${aside} and a new one begun`);
      }
    } catch (error) {
      if (error instanceof AgentProblem) throw error;
      throw new AgentProblem(`The ledger ${this.#path} cannot be opened: ${systemProblem(error)}`, EXIT_STATUS.failed);
    }
    this.#write('be made', () => {}); // on a full disk it is made later, and nothing starts before
    return false;
  }

  #load(file: number): boolean {
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
    let damaged = 0;
    for (let slot = 0; slot < this.#slots; slot += 1) {
      const record = decodeRecord(content.subarray(RECORD_BYTES * (slot + 1), RECORD_BYTES * (slot + 2)));
      if (record === 'damaged') damaged += 1;
      if (record === null || record === 'damaged') continue;
      this.#loaded(slot, record);
      if (record.order < this.#order) continue;
      this.#order = record.order;
      this.#cursor = slot + 1;
    }
    if (damaged > 0)
      this.#log.error(
        `${damaged} records in the ledger of executions are damaged: what they said of executions that ran is lost`,
      );
    return true;
  }

  /** Two records of one execution: the disk did not let a start be taken back, and it started later. */
  #loaded(slot: number, { execution, state, order }: LedgerRecord): void {
    const other = this.#places.get(execution);
    if (other !== undefined && other.order > order) return;
    if (other !== undefined) this.#holders.delete(other.slot);
    this.#places.set(execution, { slot, order, state });
    this.#holders.set(slot, execution);
  }

  #executionsIn(state: RecordState): ExecutionId[] {
    return [...this.#places].filter(([, place]) => place.state === state).map(([execution]) => execution);
  }

  #read(execution: ExecutionId): LedgerRecord | null {
    const place = this.#places.get(execution);
    if (place === undefined || this.#file === null) return null;
    const bytes = Buffer.alloc(RECORD_BYTES);
    try {
      readSync(this.#file, bytes, 0, RECORD_BYTES, RECORD_BYTES * (place.slot + 1));
    } catch {
      return null; // a broken disk: that it ran is still known
    }
    const record = decodeRecord(bytes);
    return record === 'damaged' ? null : record;
  }

  #put(execution: ExecutionId, record: Omit<LedgerRecord, 'order'>): void {
    const known = this.#places.get(execution);
    const slot = known?.slot ?? this.#freeSlot();
    const order = known?.order ?? this.#order + 1;
    this.#writeAt(slot, encodeRecord({ ...record, order }));
    this.#order = Math.max(this.#order, order);
    const former = this.#holders.get(slot);
    if (former !== undefined && former !== execution) this.#places.delete(former);
    this.#holders.set(slot, execution);
    this.#places.set(execution, { slot, order, state: record.state });
  }

  /**
   * Out of memory first, whatever the disk does: a record that stays there is one of a start that is not known to have
   * happened.
   */
  #takeBack(executions: readonly ExecutionId[]): void {
    const slots: number[] = [];
    for (const execution of executions) {
      const place = this.#places.get(execution);
      if (place?.state !== 'started') continue;
      this.#places.delete(execution);
      this.#holders.delete(place.slot);
      slots.push(place.slot);
    }
    for (const slot of slots) this.#writeAt(slot, Buffer.alloc(RECORD_BYTES));
  }

  /** The next one; when the file is as large as it may be, the oldest whose execution is over. */
  #freeSlot(): number {
    if (this.#cursor >= this.#slots) this.#wrap();
    for (let tries = 0; tries < this.#slots; tries += 1) {
      const slot = this.#cursor % this.#slots;
      this.#cursor = slot + 1;
      const holder = this.#holders.get(slot);
      if (holder === undefined || this.#places.get(holder)?.state !== 'started') return slot;
    }
    throw new Error('every record is one of an execution that runs');
  }

  #wrap(): void {
    try {
      if (this.#slots < LEDGER_RECORDS_MAX)
        return this.#grow(Math.min(LEDGER_RECORDS_MAX, Math.max(LEDGER_RECORDS_MIN, this.#slots * 2)));
    } catch {
      // A full disk: the oldest make room already now.
    }
    this.#cursor = 0;
  }

  #grow(slots: number): void {
    const file = this.#opened();
    const zeros = Buffer.alloc(RECORD_BYTES * (slots - this.#slots));
    for (let written = 0; written < zeros.length;)
      written += writeSync(file, zeros, written, zeros.length - written, RECORD_BYTES * (this.#slots + 1) + written);
    fsyncSync(file);
    this.#slots = slots;
  }

  #writeAt(slot: number, record: Buffer): void {
    writeSync(this.#opened(), record, 0, RECORD_BYTES, RECORD_BYTES * (slot + 1));
    this.#isDirty = true;
  }

  #opened(): number {
    if (this.#file === null) throw new Error('it is not open');
    return this.#file;
  }

  #flush(): void {
    fdatasyncSync(this.#opened()); // its size does not change here, so that no metadata has to go along
    this.#isDirty = false;
  }

  #flushLater(): void {
    this.#sync ??= setTimeout(() => {
      this.#sync = null;
      if (this.#isDirty) this.#write('be written', () => this.#flush());
    }, SYNC_AFTER_MS).unref();
  }

  /** Makes the file, whole, before anything is written to it. */
  #make(): void {
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

  #write(what: string, change: () => void): boolean {
    try {
      if (this.#file === null) this.#make();
      change();
      if (this.#problem !== null) this.#log.info('The ledger of executions can be written again');
      this.#problem = null;
      return true;
    } catch (error) {
      if (this.#problem === null)
        this.#log.error(
          `The ledger of executions cannot ${what}: ${systemProblem(error)}. New commands wait until it can`,
        );
      this.#problem = `the ledger of executions cannot ${what}: ${systemProblem(error)}`;
      return false;
    }
  }
}

const NOTHING = { outcome: null, exitCode: 0, outputBytes: 0, outputHash: Buffer.alloc(32) } as const;
