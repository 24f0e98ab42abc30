/** One connection on which the database notifies: from its dial until it is lost. */
import { Client, type PoolConfig } from 'pg';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';

/**
 * How often the connection is asked whether it is there, and how long it may take to say so, in ms. Nothing is ever
 * sent on it otherwise: one that a firewall has forgotten would be silent for hours, and what admins say to each other
 * comes by it alone.
 */
const BEAT_MS = 5_000;
const BEAT_ANSWER_MS_MAX = 5_000;

/** What it listens to, and whom it tells. */
export interface ListeningPorts {
  readonly options: PoolConfig;
  readonly channels: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** A notification; each channel gets null first. */
  readonly tell: (channel: string, payload: string | null) => void;
  /** It listens to all channels. Before they get null. */
  readonly opened: () => void;
  /** It could not be had, or is gone. Told once, and not of one that was ended. */
  readonly lost: () => void;
}

/** Dialled at once. */
export class ListeningConnection {
  readonly #ports: ListeningPorts;
  readonly #client: Client;
  readonly #opening: Promise<void>;
  #isOver = false;
  #cancelBeat: () => void = () => undefined;

  constructor(ports: ListeningPorts) {
    this.#ports = ports;
    this.#client = new Client({ ...ports.options, keepAlive: true });
    this.#client.on('error', (error) => {
      ports.log.debug({ error: error.message }, 'lost the connection that listens to the database');
      this.#lost();
    });
    this.#client.on('end', () => this.#lost());
    this.#client.on('notification', ({ channel, payload }) => ports.tell(channel, payload ?? ''));
    this.#opening = this.#open();
  }

  /** Never rejects. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#opening;
    this.#cancelBeat();
    await this.#giveUp();
  }

  async #open(): Promise<void> {
    const { channels, opened, tell } = this.#ports;
    try {
      await this.#client.connect();
      for (const channel of channels) await this.#client.query(`listen ${channel}`);
      opened();
      this.#rest();
      for (const channel of channels) tell(channel, null);
    } catch {
      this.#lost(); // whoever needs the database says that it is away
    }
  }

  #rest(): void {
    this.#cancelBeat = this.#ports.clock.after(BEAT_MS, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    this.#cancelBeat = this.#ports.clock.after(BEAT_ANSWER_MS_MAX, () => this.#lost());
    try {
      await this.#client.query(`listen ${this.#ports.channels[0]}`);
    } catch {
      this.#lost();
      return;
    }
    if (this.#isOver) return;
    this.#cancelBeat();
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
