/** Seals everything anew after a change of the key: batch by batch, in passes, until nothing is under a former one. */
import type { Pool } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import type { Keyring } from '../vault.ts';
import { IN_FLIGHT_MS_MAX, type EncryptionKeys } from './encryption-keys.ts';
import { SEALED_COLUMNS, sealBatchAnew } from './sealed-rows.ts';

/** How far it is, as far as this process did it. */
export interface RotationReadings {
  /** Keys that this admin has. */
  readonly keys: number;
  /** Secrets that were sealed anew since the start, and those that no key here opens, as of the last whole pass. */
  readonly sealed: number;
  readonly unreadable: number;
  /** Whether nothing is under a former key; with one key alone that was seen at the start. */
  readonly isDone: boolean;
}

/** What it needs. */
export interface RotationPorts {
  readonly pool: Pool;
  readonly vault: Keyring;
  readonly keys: EncryptionKeys;
  readonly log: Log;
  /** Default: IN_FLIGHT_MS_MAX. */
  readonly inFlightMsMax?: number;
}

/** One pass over all columns. */
interface Pass {
  /** Whether all that was sealed before the change is stored. */
  readonly isLast: boolean;
  column: number;
  after: readonly string[] | null;
  sealed: number;
  left: number;
  readonly unreadable: Map<string, number>;
}

/** The work of one admin at a time; begun anew by whoever comes after it. */
export class KeyRotation {
  readonly #ports: RotationPorts;
  #pass: Pass | null = null;
  /** Under which key everything was seen to be. */
  #doneUnder: string | null = null;
  #sealed = 0;
  #unreadable = 0;

  constructor(ports: RotationPorts) {
    this.#ports = ports;
  }

  /** For metrics. */
  readings(): RotationReadings {
    const { vault } = this.#ports;
    return {
      keys: vault.ids.length,
      sealed: this.#sealed,
      unreadable: this.#unreadable,
      isDone: vault.ids.length === 1 || this.#doneUnder === vault.sealing(),
    };
  }

  /** Changes the key where all admins want that, and seals one batch anew. True: there is more. */
  async step(): Promise<boolean> {
    const { vault, keys } = this.#ports;
    if (vault.ids.length === 1) return false;
    await keys.change();
    if (this.#doneUnder === vault.sealing()) return false;
    this.#pass ??= await this.#begun();
    const pass = this.#pass;
    if (await this.#batch(pass)) return true;
    this.#pass = null;
    this.#unreadable = [...pass.unreadable.values()].reduce((sum, rows) => sum + rows, 0);
    if (!pass.isLast || pass.sealed + pass.left > 0) return false;
    await this.#done(pass);
    return false;
  }

  async #begun(): Promise<Pass> {
    const { keys, inFlightMsMax = IN_FLIGHT_MS_MAX } = this.#ports;
    const isLast = ((await keys.sealsForMs()) ?? 0) > inFlightMsMax;
    return { isLast, column: 0, after: null, sealed: 0, left: 0, unreadable: new Map() };
  }

  /** False: it was the last one. */
  async #batch(pass: Pass): Promise<boolean> {
    const { pool, vault } = this.#ports;
    const column = SEALED_COLUMNS[pass.column];
    if (column === undefined) return false;
    const looked = await sealBatchAnew(pool, vault, column, pass.after);
    pass.sealed += looked.sealed;
    pass.left += looked.left;
    this.#sealed += looked.sealed;
    const name = `${column.table}.${column.column}`;
    if (looked.unreadable > 0) pass.unreadable.set(name, (pass.unreadable.get(name) ?? 0) + looked.unreadable);
    pass.after = looked.last;
    if (looked.last === null) pass.column += 1;
    return pass.column < SEALED_COLUMNS.length;
  }

  async #done({ unreadable }: Pass): Promise<void> {
    const { vault, keys, log } = this.#ports;
    await keys.retire();
    this.#doneUnder = vault.sealing();
    if (unreadable.size > 0)
      log.warn(
        {},
        `secrets that no key here opens: ${[...unreadable].map(([name, rows]) => `${name}: ${rows}`).join(', ')}. They were sealed under a key that is lost, or are damaged`,
      );
    if (vault.sealing() === vault.wanted)
      log.info(
        { rows: this.#sealed },
        'nothing is sealed under a former ENCRYPTION_KEY any more: take it out of ENCRYPTION_KEYS_OLD, and keep it with the backups from before',
      );
  }
}
