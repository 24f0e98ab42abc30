/**
 * Who moves self-update requests: one admin at a time, where the actors of all open requests live. They are told what
 * nodes of this admin store at once, and look at the others' rows once a second.
 */
import type { Bus } from '../actors/bus.ts';
import type { Notice } from '../actors/notice.ts';
import { DatabaseUnavailable, type Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import type { Directory } from './runtime/directory.ts';
import { HeldTask, type TaskLease } from './tasks/held-task.ts';

/** Time between two looks at the rows of nodes of other admins, in ms: none while no request is open. */
export const COUNT_EVERY_MS = 1_000;

/**
 * After so many of them open requests are looked for of which nobody told, as the admin that stored them was killed.
 */
const COUNTS_UNTIL_ALL = 5;

/** What it needs. */
export interface SelfUpdatesPorts {
  readonly rows: {
    /** Requests that are not completed. Rejects with DatabaseUnavailable. */
    open(): Promise<readonly string[]>;
    /** Hears requests that other admins store; null: some may have been missed. */
    hear(created: (request: string | null) => void): { stop(): void };
  };
  readonly lease: TaskLease;
  readonly leaseMs: number;
  readonly leaseClockMs: () => number;
  /** As HeldTaskPorts'. */
  readonly takesTasks: () => boolean;
  readonly directory: Pick<Directory, 'tell' | 'tellLocal' | 'isLocal' | 'cells' | 'evictSelfUpdates'>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** Not started. */
export class SelfUpdates {
  readonly #ports: SelfUpdatesPorts;
  readonly #task: HeldTask;
  #cancel = (): void => {};
  #ends: readonly (() => void)[] = [];
  #looking: Promise<void> = Promise.resolve();
  #looksLeft = 0;
  #isStopped = false;

  constructor(ports: SelfUpdatesPorts) {
    this.#ports = ports;
    const { directory, log } = ports;
    this.#task = new HeldTask({
      ...ports,
      name: 'self-updates',
      gained: () => {
        directory.evictSelfUpdates(); // what lived here under another epoch may not know what was moved meanwhile
        this.#lookNow();
      },
      lost: () => {
        log.info({}, 'another admin moves self-update requests now');
        directory.evictSelfUpdates();
      },
    });
  }

  /** Tries for the lease once, then goes on by itself. */
  async start(): Promise<void> {
    const { bus, rows } = this.#ports;
    const hearing = rows.hear((request) => (request === null ? this.#lookNow() : this.#wake(request)));
    this.#ends = [bus.subscribe((notices) => this.#told(notices)), () => hearing.stop()];
    await this.#task.start();
    this.#later();
  }

  /** Whether requests are moved by this admin. */
  holds(): boolean {
    return this.#task.holds();
  }

  /** Gives the lease back. Resolves when nothing is looked for any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#task.halt();
    this.#cancel();
    for (const end of this.#ends) end();
    await this.#looking;
    this.#ports.directory.evictSelfUpdates();
    await this.#task.release();
  }

  #told(notices: readonly Notice[]): void {
    const changed = new Set<string>();
    for (const notice of notices) {
      if (notice.type === 'self-update-created') this.#wake(notice.request);
      else if (notice.type === 'self-update-changed') changed.add(notice.request);
    }
    for (const id of changed)
      this.#ports.directory.tellLocal({ to: { kind: 'self-update', id }, message: { type: 'nodes-changed' } });
  }

  /** Its actor is started from its rows, where it is not here. */
  #wake(id: string): void {
    if (this.holds())
      this.#ports.directory.tell({ to: { kind: 'self-update', id }, message: { type: 'nodes-changed' } });
  }

  #later(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#ports.clock.after(COUNT_EVERY_MS, () => {
      this.#count();
      this.#later();
    });
  }

  #count(): void {
    if (!this.holds()) return;
    for (const { address } of this.#ports.directory.cells('self-update')) this.#wake(address.id);
    this.#looksLeft -= 1;
    if (this.#looksLeft < 0) this.#lookNow();
  }

  #lookNow(): void {
    this.#looksLeft = COUNTS_UNTIL_ALL;
    this.#looking = this.#looking.then(() => this.#look());
  }

  async #look(): Promise<void> {
    if (this.#isStopped || !this.holds()) return;
    const { rows, directory, log } = this.#ports;
    try {
      for (const id of await rows.open()) if (!directory.isLocal({ kind: 'self-update', id })) this.#wake(id);
    } catch (error) {
      this.#looksLeft = 0;
      if (error instanceof DatabaseUnavailable) log.debug({}, 'self-update requests wait for the database');
      else log.error({ error }, 'open self-update requests could not be found: trying again');
    }
  }
}
