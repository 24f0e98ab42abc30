/** One connection on which the database notifies: from its dial until it is lost. */
import { Client, type PoolConfig } from 'pg';
import type { Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';

/**
 * How often the connection is asked whether it is there, and how long it may take to say so, in ms. Nothing is ever
 * sent on it otherwise: one that a firewall has forgotten would be silent for hours, and what admins say to each other
 * comes by it alone.
 */
const BEAT_MS = 5_000;
const BEAT_ANSWER_MS_MAX = 5_000;

/** What it listens with, and whom it tells. */
export interface ListeningPorts {
  readonly options: PoolConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** A notification. */
  readonly tell: (channel: string, payload: string) => void;
  /** It could not be had, or is gone. Told once, and not of one that was ended. */
  readonly lost: () => void;
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
    this.#connected = this.#client.connect();
    this.#last = this.#connected;
  }

  /** Listens to these as well. Resolves when it does; false: it was lost, or ended, before. Never rejects. */
  async listen(channels: Iterable<string>): Promise<boolean> {
    for (const channel of channels) {
      if (!(await this.#ask(channel))) return false;
      if (this.#beatOn !== null) continue;
      this.#beatOn = channel;
      this.#rest();
    }
    return !this.#isOver;
  }

  /** Never rejects. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#cancelBeat();
    await this.#connected.catch(() => {}); // one that is still dialled cannot be closed
    await this.#giveUp();
  }

  /** False: it was lost. */
  async #ask(channel: string): Promise<boolean> {
    const asked = this.#last.then(() => this.#client.query(`listen ${channel}`));
    this.#last = asked;
    try {
      await asked;
      return !this.#isOver;
    } catch {
      this.#lost(); // whoever needs the database says that it is away
      return false;
    }
  }

  #rest(): void {
    this.#cancelBeat = this.#ports.clock.after(BEAT_MS, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    if (this.#beatOn === null) return;
    this.#cancelBeat = this.#ports.clock.after(BEAT_ANSWER_MS_MAX, () => this.#lost());
    if (!(await this.#ask(this.#beatOn))) return;
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
