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
import { renameSync } from 'node:fs';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import type { Ending } from '../execution.ts';
import { LedgerFile } from './ledger-file.ts';
import { encodeRecord, RECORD_BYTES } from './ledger-record.ts';
import type { LedgerRecord, RecordState } from './ledger-record.ts';
import type { Log } from '../../../transport/net/log.ts';
import { AgentProblem, EXIT_STATUS, systemProblem } from '../../problem.ts';

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

/** A start that is about to happen, or that happened. `shim` null: it is not known any more. */
export interface LedgerStart {
  readonly execution: ExecutionId;
  readonly shim: string | null;
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
  readonly #log: Log;
  readonly #file: LedgerFile;
  readonly #places = new Map<ExecutionId, Place>();
  readonly #holders = new Map<number, ExecutionId>();
  #cursor = 0;
  #order = 0;
  #problem: string | null = null;
  #sync: NodeJS.Timeout | null = null;

  /**
   * Opens or creates the file at `path`; a damaged one is set aside. Throws an `AgentProblem` when it belongs to a
   * newer agent.
   */
  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
    this.#file = new LedgerFile(path);
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
      shim: this.#read(execution)?.shim ?? null,
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
        for (const { execution, shim } of starts)
          this.#put(execution, { ...NOTHING, execution, state: 'started', shim });
        this.#file.flush();
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
    if (endings.length === 0) return;
    this.#write('record an end', () => {
      for (const { execution, outcome, exitCode, output } of endings) {
        this.#put(execution, {
          execution,
          state: 'ended',
          shim: null,
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
    const ended = executions.filter((execution) => this.stateOf(execution) === 'ended');
    if (ended.length === 0) return;
    this.#write('record a confirmation', () => {
      for (const execution of ended) {
        const record = this.#read(execution);
        if (record !== null) this.#put(execution, { ...record, state: 'confirmed' });
      }
      this.#flushLater();
    });
  }

  /** Tries to write, after failed tries. True when it can. */
  heal(): boolean {
    return this.#problem === null || this.#write('be written', () => this.#file.touch());
  }

  close(): void {
    if (this.#sync !== null) clearTimeout(this.#sync);
    if (!this.#file.isOpen) return;
    if (this.#file.isDirty) this.#write('be written', () => this.#file.flush());
    this.#file.close();
  }

  /** False when it begins anew. */
  #open(): boolean {
    try {
      let damaged = 0;
      const was = this.#file.open((slot, record) => {
        if (record === 'damaged') damaged += 1;
        else this.#loaded(slot, record);
      });
      if (damaged > 0)
        this.#log.error(
          {},
          `${damaged} records in the ledger of executions are damaged: what they said of executions that ran is lost`,
        );
      if (was === 'opened') return true;
      if (was === 'damaged') {
        const aside = `${this.#path}.damaged-${new Date().toISOString().replaceAll(/[:.]/gu, '-')}`;
        renameSync(this.#path, aside);
        this.#log.error({}, `The ledger of executions is damaged; it was kept as ${aside} and a new one begun`);
      }
    } catch (error) {
      if (error instanceof AgentProblem) throw error;
      throw new AgentProblem(`The ledger ${this.#path} cannot be opened: ${systemProblem(error)}`, EXIT_STATUS.failed);
    }
    this.#write('be made', () => {}); // on a full disk it is made later, and nothing starts before
    return false;
  }

  #loaded(slot: number, record: LedgerRecord): void {
    this.#place(slot, record);
    if (record.order < this.#order) return;
    this.#order = record.order;
    this.#cursor = slot + 1;
  }

  /** Two records of one execution: the disk did not let a start be taken back, and it started later. */
  #place(slot: number, { execution, state, order }: LedgerRecord): void {
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
    return place === undefined ? null : this.#file.read(place.slot);
  }

  #put(execution: ExecutionId, record: Omit<LedgerRecord, 'order'>): void {
    const known = this.#places.get(execution);
    const slot = known?.slot ?? this.#freeSlot();
    const order = known?.order ?? this.#order + 1;
    this.#file.write(slot, encodeRecord({ ...record, order }));
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
    for (const slot of slots) this.#file.write(slot, Buffer.alloc(RECORD_BYTES));
  }

  /** The next one; when the file is as large as it may be, the oldest whose execution is over. */
  #freeSlot(): number {
    if (this.#cursor >= this.#file.slots) this.#wrap();
    for (let tries = 0; tries < this.#file.slots; tries += 1) {
      const slot = this.#cursor % this.#file.slots;
      this.#cursor = slot + 1;
      const holder = this.#holders.get(slot);
      if (holder === undefined || this.#places.get(holder)?.state !== 'started') return slot;
    }
    throw new Error('every record is one of an execution that runs');
  }

  #wrap(): void {
    try {
      if (this.#file.grow()) return;
    } catch {
      // A full disk: the oldest make room already now.
    }
    this.#cursor = 0;
  }

  #flushLater(): void {
    this.#sync ??= setTimeout(() => {
      this.#sync = null;
      if (this.#file.isDirty) this.#write('be written', () => this.#file.flush());
    }, SYNC_AFTER_MS).unref();
  }

  #write(what: string, change: () => void): boolean {
    try {
      if (!this.#file.isOpen) this.#file.make();
      change();
      if (this.#problem !== null) this.#log.info({}, 'The ledger of executions can be written again');
      this.#problem = null;
      return true;
    } catch (error) {
      if (this.#problem === null)
        this.#log.error(
          {},
          `The ledger of executions cannot ${what}: ${systemProblem(error)}. New commands wait until it can`,
        );
      this.#problem = `the ledger of executions cannot ${what}: ${systemProblem(error)}`;
      return false;
    }
  }
}

const NOTHING = { outcome: null, exitCode: 0, outputBytes: 0, outputHash: Buffer.alloc(32) } as const;
