/** Hears what the database notifies, on a connection of its own, and says so when something may have been missed. */
import type { PoolConfig } from 'pg';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { ListeningConnection } from './listening-connection.ts';

/** Waits before a lost connection is tried again, in ms: the first, and the longest. */
const RETRY_MS = 250;
const RETRY_MS_MAX = 5_000;

/**
 * Gets a notification, with its payload. Null: the connection is new, and anything may have been missed while there was
 * none.
 */
export type OnNotice = (channel: string, payload: string | null) => void;

/** Listens to these channels until it is stopped. A lost connection is dialled again, for ever. */
export class Listener {
  readonly #options: PoolConfig;
  readonly #channels: readonly string[];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners: OnNotice[] = [];
  #waitMs = RETRY_MS;
  #connection: ListeningConnection;
  #cancelRetry: () => void = () => undefined;

  /** Begins at once. */
  constructor(options: PoolConfig, channels: readonly string[], clock: Clock, log: Log) {
    this.#options = options;
    this.#channels = channels;
    this.#clock = clock;
    this.#log = log;
    this.#connection = this.#dial();
  }

  onNotice(run: OnNotice): void {
    this.#listeners.push(run);
  }

  async stop(): Promise<void> {
    this.#cancelRetry();
    await this.#connection.end();
  }

  #dial(): ListeningConnection {
    return new ListeningConnection({
      options: this.#options,
      channels: this.#channels,
      clock: this.#clock,
      log: this.#log,
      tell: (channel, payload) => {
        for (const run of this.#listeners) run(channel, payload);
      },
      opened: () => {
        this.#waitMs = RETRY_MS;
      },
      lost: () => this.#dialLater(),
    });
  }

  #dialLater(): void {
    const waitMs = this.#waitMs;
    this.#waitMs = Math.min(RETRY_MS_MAX, waitMs * 2);
    this.#cancelRetry = this.#clock.after(waitMs, () => {
      this.#connection = this.#dial();
    });
  }
}
