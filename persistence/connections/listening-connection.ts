/** One connection on which the database notifies: from its dial until it is lost. */
import type { Client, PoolConfig, QueryResult } from 'pg';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { DatabaseClient } from './database-client.ts';

/**
 * How often the connection is asked whether it is there, and how long it may take to say so, in ms. Nothing is ever
 * sent on it otherwise: one that a firewall has forgotten would be silent for hours, and what admins say to each other
 * comes by it alone.
 */
const BEAT_MS = 5_000;
const BEAT_ANSWER_MS_MAX = 5_000;

/** One lock a session, by a hash of its name. */
const TRY_LOCK = 'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked';

/** What it listens with, and whom it tells. */
export interface ListeningPorts {
  readonly options: PoolConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** A notification. */
  readonly tell: (channel: string, payload: string) => void;
  /** It could not be had, or is gone. Told once, and not of one that was ended. */
  readonly lost: () => void;
  /** It said something: an answer, or a notification. */
  readonly heard: () => void;
}

/** Dialled at once, and listens to nothing yet. */
export class ListeningConnection {
  readonly #ports: ListeningPorts;
  readonly #client: Client;
  readonly #connected: Promise<unknown>;
  /** What was asked of the connection last: it takes one statement at a time. */
  #last: Promise<unknown>;
  /** A channel that it listens to: asked for again, it shows that the connection is there. */
  #beatOn: string | null = null;
  /** What it has, or tries to have with each beat. */
  #lockName: string | null = null;
  #isLocked = false;
  #isOver = false;
  #cancelBeat: () => void = () => undefined;

  constructor(ports: ListeningPorts) {
    this.#ports = ports;
    this.#client = new DatabaseClient(ports.options);
    this.#client.on('error', (error) => {
      ports.log.debug({ error: error.message }, 'lost the connection that listens to the database');
      this.#lost();
    });
    this.#client.on('end', () => this.#lost());
    this.#client.on('notification', ({ channel, payload }) => {
      ports.heard();
      // not within what pg reads: a fault of whoever is told is no answer that cannot be read
      queueMicrotask(() => {
        if (!this.#isOver) ports.tell(channel, payload ?? '');
      });
    });
    this.#connected = this.#client.connect();
    this.#last = this.#connected;
  }

  /** Listens to these as well. Resolves when it does; false: it was lost, or ended, before. Never rejects. */
  async listen(channels: Iterable<string>): Promise<boolean> {
    for (const channel of channels) {
      if ((await this.#ask(`listen ${channel}`)) === null) return false;
      if (this.#beatOn !== null) continue;
      this.#beatOn = channel;
      this.#rest();
    }
    return !this.#isOver;
  }

  /**
   * Takes the lock of this name, which it keeps until it ends. False: another connection has it, and it is tried for
   * again with each beat. Null: it was lost, or ended, before. Never rejects.
   */
  async lock(name: string): Promise<boolean | null> {
    this.#lockName = name;
    if (this.#isLocked) return true;
    const rows = await this.#ask<{ locked: boolean }>(TRY_LOCK, [`edge-fleet-control admin ${name}`]);
    if (rows === null) return null;
    this.#isLocked = rows[0]?.locked === true;
    return this.#isLocked;
  }

  /** Never rejects. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#cancelBeat();
    await this.#connected.catch(() => {}); // one that is still dialled cannot be closed
    await this.#giveUp();
  }

  /** Null: it was lost, or did not answer in time and is given up. */
  async #ask<R extends object>(text: string, values: readonly string[] = []): Promise<readonly R[] | null> {
    const asked = this.#last.then(() => this.#answered<R>(text, values));
    this.#last = asked;
    try {
      const { rows } = await asked;
      this.#ports.heard();
      return this.#isOver ? null : rows;
    } catch {
      this.#lost(); // whoever needs the database says that it is away
      return null;
    }
  }

  /** It is its turn: what was asked before has its answer. */
  async #answered<R extends object>(text: string, values: readonly string[]): Promise<QueryResult<R>> {
    const cancel = this.#ports.clock.after(BEAT_ANSWER_MS_MAX, () => this.#lost());
    try {
      return await this.#client.query<R>(text, [...values]);
    } finally {
      cancel();
    }
  }

  #rest(): void {
    this.#cancelBeat = this.#ports.clock.after(BEAT_MS, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    if (this.#beatOn === null) return;
    if ((await this.#ask(`listen ${this.#beatOn}`)) === null) return;
    if (this.#lockName !== null && (await this.lock(this.#lockName)) === null) return;
    this.#rest();
  }

  #lost(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelBeat();
    this.#client.removeAllListeners();
    void this.#giveUp();
    this.#ports.lost();
  }

  /** Nothing is expected of it any more, not even a goodbye. */
  async #giveUp(): Promise<void> {
    this.#client.on('error', () => {});
    await this.#client.end().catch(() => {});
  }
}
