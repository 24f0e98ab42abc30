/**
 * Hears what the database notifies, on one connection for everybody, and says so when something may have been missed.
 */
import type { PoolConfig } from 'pg';
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import { monotonicMs } from '../../transport/net/clock.ts';
import type { Log } from '../../transport/net/log.ts';
import { ListeningConnection } from './listening-connection.ts';

/** Waits before a lost connection is tried again, in ms: the first, and the longest. */
const RETRY_MS = 250;
const RETRY_MS_MAX = 5_000;

/**
 * Gets a notification, with its payload. Null, once a channel: it is listened to from now on, and anything may have
 * been missed until then.
 */
export type OnNotice = (channel: string, payload: string | null) => void;

/** Somebody who hears channels. */
export interface Subscription {
  /** Nothing is told any more. */
  stop(): void;
}

/** How well it hears. */
export interface ListenerReadings {
  /** Since its connection last said anything, in ms: an answer, or a notification. It is asked every 5 s. */
  readonly silentMs: number;
  /** Connections that were lost or could not be had: each time anything may have been missed. */
  readonly lost: number;
}

interface Hearing {
  readonly channels: readonly string[];
  readonly run: OnNotice;
}

/**
 * One connection for all channels that anybody hears: dialled for the first of them, and again for ever when it is
 * lost. Channels are added while it is open.
 */
export class Listener {
  readonly #options: PoolConfig;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #hearings = new Set<Hearing>();
  #waitMs = RETRY_MS;
  /** Null: nobody has heard anything yet, it was lost and is dialled later, or it is stopped. */
  #connection: ListeningConnection | null = null;
  /** Null: nothing is to be dialled later. */
  #cancelRetry: (() => void) | null = null;
  /** Of whoever this is; null: it needs none. */
  #lockName: string | null = null;
  #isStopped = false;
  #heardAtMs = monotonicMs();
  #lost = 0;

  /** Nothing is dialled yet. */
  constructor(options: PoolConfig, clock: Clock, log: Log) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** Hears these channels from now on. Each is told null first, and anew whenever the connection was lost. */
  hear(channels: readonly string[], run: OnNotice): Subscription {
    const hearing = { channels, run };
    this.#hearings.add(hearing);
    if (this.#connection !== null) void this.#begin(this.#connection, [hearing]);
    else if (this.#cancelRetry === null && !this.#isStopped) this.#dial();
    return { stop: () => void this.#hearings.delete(hearing) };
  }

  /**
   * Takes the lock of this name for this connection and each that follows it, which have it as long as they last.
   * False: another process has it. Rejects with DatabaseUnavailable.
   */
  async lock(name: string): Promise<boolean> {
    this.#lockName = name;
    if (this.#connection === null && !this.#isStopped) {
      this.#cancelRetry?.();
      this.#cancelRetry = null;
      this.#dial();
    }
    const isLocked = (await this.#connection?.lock(name)) ?? null;
    if (isLocked === null) throw new DatabaseUnavailable('The database is not available (taking up a name).');
    return isLocked;
  }

  /** For metrics and health. */
  readings(): ListenerReadings {
    return { silentMs: monotonicMs() - this.#heardAtMs, lost: this.#lost };
  }

  /** Resolves when the connection is closed. Nobody hears anything afterwards. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#hearings.clear();
    this.#cancelRetry?.();
    await this.#connection?.end();
  }

  #dial(): void {
    const connection = new ListeningConnection({
      options: this.#options,
      clock: this.#clock,
      log: this.#log,
      tell: (channel, payload) => this.#tell(channel, payload),
      lost: () => this.#dialLater(),
      heard: () => {
        this.#heardAtMs = monotonicMs();
      },
    });
    this.#connection = connection;
    void this.#begin(connection, [...this.#hearings]);
  }

  async #begin(connection: ListeningConnection, hearings: readonly Hearing[]): Promise<void> {
    if (this.#lockName !== null && (await connection.lock(this.#lockName)) === null) return;
    const isOpen = await connection.listen(new Set(hearings.flatMap(({ channels }) => channels)));
    if (!isOpen) return; // the next connection begins with all of them
    this.#waitMs = RETRY_MS;
    for (const { channels, run } of hearings.filter((one) => this.#hearings.has(one)))
      for (const channel of channels) run(channel, null);
  }

  #tell(channel: string, payload: string): void {
    for (const { channels, run } of this.#hearings) if (channels.includes(channel)) run(channel, payload);
  }

  #dialLater(): void {
    this.#connection = null;
    this.#lost += 1;
    const waitMs = this.#waitMs;
    this.#waitMs = Math.min(RETRY_MS_MAX, waitMs * 2);
    this.#cancelRetry = this.#clock.after(waitMs, () => {
      this.#cancelRetry = null;
      this.#dial();
    });
  }
}
