/**
 * A channel of events: one admin serves it at a time, as long as there is work, and sleeps until it is told that there
 * is more.
 */
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';

/**
 * How often a lease is renewed, or a channel of another admin is tried for, in ms: three times within the 10 s of a
 * lease.
 */
export const RENEW_MS = 3_000;

/** A look without being told, in ms: a notification may be lost together with its connection. */
export const SAFETY_POLL_MS = 30_000;

/** Pause before the next look when events wait for an older transaction to end, in ms. Nobody tells when it does. */
export const SETTLE_MS = 20;

/** Least pause between two looks, in ms: what is stored meanwhile travels together. */
export const GATHER_MS = 20;

/**
 * Waits after failures, in ms: the first, and the longest. While the database is away it is always the first: service
 * is back within 3 s of its return (L3).
 */
export const BACK_OFF_MS = 500;
export const BACK_OFF_MS_MAX = 30_000;

/**
 * What a piece of work came to: there is more, there will be soon, there is none, or another admin serves the channel
 * now.
 */
export type Outcome = 'more' | 'soon' | 'none' | 'lost';

/** Who may serve the channel, by the database's clock. */
export interface ChannelLease {
  /** The epoch under which it is held now; null: by another. */
  claim(): Promise<number | null>;
  /** False: another took it. */
  renew(epoch: number): Promise<boolean>;
  release(epoch: number): Promise<void>;
}

/** What a channel needs. `leaseMs` is what the database grants. */
export interface ChannelPorts {
  readonly name: string;
  readonly lease: ChannelLease;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** By which the lease runs out: runs on while this machine is suspended. */
  readonly leaseClockMs: () => number;
  /** Jitter of waits, from 0 to 1. */
  readonly random: () => number;
  readonly log: Log;
  /** One bounded piece of work. What it throws is logged and tried again, later each time. */
  work(epoch: number): Promise<Outcome>;
  /** Another admin serves it now. */
  lost(): void;
}

/** A channel, not started. */
export class Channel {
  readonly #ports: ChannelPorts;
  /** Null: another admin has the lease, as far as is known. */
  #epoch: number | null = null;
  #heldUntilMs = 0;
  #isStopped = false;
  #isWoken = true;
  #failures = 0;
  #isAway = false;
  #endSleep: (() => void) | null = null;
  #cancelRenewal = (): void => {};
  #renewing: Promise<void> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();

  constructor(ports: ChannelPorts) {
    this.#ports = ports;
  }

  /** Tries for the lease once, then goes on by itself. */
  async start(): Promise<void> {
    await this.#renew();
    this.#schedule();
    this.#running = this.#run();
  }

  /** Gives the lease back. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    const { name, lease, log } = this.#ports;
    this.#isStopped = true;
    this.#cancelRenewal();
    this.#endSleep?.();
    await this.#running;
    await this.#renewing;
    const held = this.#epoch;
    this.#epoch = null;
    if (held === null) return;
    try {
      await lease.release(held);
    } catch (error) {
      log.debug(
        { channel: name, error: (error as Error).message },
        'a channel of events was not released: its lease runs out',
      );
    }
  }

  /** There may be work. */
  wake(): void {
    this.#isWoken = true;
    this.#endSleep?.();
  }

  /** Whether this admin serves it, by its own lease clock: one that was paused or suspended must not go on (O1). */
  holds(): boolean {
    return this.#epoch !== null && this.#ports.leaseClockMs() < this.#heldUntilMs;
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#cancelRenewal = this.#ports.clock.after(
      this.#isAway ? BACK_OFF_MS : RENEW_MS,
      () => void this.#renew().then(() => this.#schedule()),
    );
  }

  /** One after another: a round is never in the way of the one before. */
  #renew(): Promise<void> {
    this.#renewing = this.#renewing.then(() => this.#tryToHold());
    return this.#renewing;
  }

  async #tryToHold(): Promise<void> {
    const { name, log } = this.#ports;
    try {
      await this.#hold();
      this.#isAway = false;
    } catch (error) {
      this.#isAway = error instanceof DatabaseUnavailable;
      if (this.#isAway) log.debug({ channel: name }, 'a channel of events waits for the database');
      else log.error({ error, channel: name }, 'a channel of events could not be held: trying again');
    }
  }

  /**
   * A lease that ran out by this admin's clock, if only for a moment, is never renewed: what was not done meanwhile is
   * taken up under a new epoch.
   */
  async #hold(): Promise<void> {
    const { lease, leaseMs, leaseClockMs } = this.#ports;
    if (this.#epoch !== null && this.holds()) {
      const renewedAtMs = leaseClockMs();
      if (!(await lease.renew(this.#epoch))) this.#lose();
      else if (this.holds()) {
        this.#heldUntilMs = renewedAtMs + leaseMs;
        return;
      }
    }
    if (this.#isStopped) return;
    const claimedAtMs = leaseClockMs();
    const claimed = await lease.claim();
    if (claimed === null) return this.#lose();
    this.#epoch = claimed;
    this.#heldUntilMs = claimedAtMs + leaseMs;
    this.#endSleep?.();
  }

  #lose(): void {
    if (this.#epoch === null) return;
    this.#epoch = null;
    this.#ports.log.info({ channel: this.#ports.name }, 'another admin publishes these events now');
    this.#ports.lost();
  }

  async #run(): Promise<void> {
    for (;;) {
      if (this.#isStopped) return;
      if (this.#epoch === null || !this.holds()) {
        await this.#sleep(SAFETY_POLL_MS, true);
        continue;
      }
      this.#isWoken = false;
      const outcome = await this.#attempt(this.#epoch);
      if (outcome === 'failed') await this.#sleep(this.#backOffMs(), false);
      else if (outcome === 'away') await this.#sleep(BACK_OFF_MS, false);
      else if (outcome === 'lost') await this.#renew();
      else if (outcome === 'soon') await this.#sleep(SETTLE_MS, false);
      else if (outcome !== 'more') await this.#rest();
    }
  }

  #backOffMs(): number {
    return Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** (this.#failures - 1)) * (0.5 + this.#ports.random() / 2);
  }

  async #attempt(held: number): Promise<Outcome | 'failed' | 'away'> {
    try {
      const outcome = await this.#ports.work(held);
      this.#failures = 0;
      if (outcome === 'lost' && this.#epoch === held) this.#heldUntilMs = 0; // whoever is lost to, the next claim says
      return outcome;
    } catch (error) {
      return this.#isStopped ? 'failed' : this.#failed(error);
    }
  }

  #failed(error: unknown): 'failed' | 'away' {
    const { name, log } = this.#ports;
    if (error instanceof DatabaseUnavailable) {
      log.debug({ channel: name }, 'a channel of events waits for the database');
      return 'away';
    }
    this.#failures += 1;
    const { message } = error as Error;
    // Once at the beginning of an outage: what goes on is seen in health and metrics.
    if (this.#failures === 1) log.warn({ channel: name, error: message }, 'events cannot be published now: they wait');
    else log.debug({ channel: name, error: message, failures: this.#failures }, 'events still cannot be published');
    return 'failed';
  }

  async #rest(): Promise<void> {
    await this.#sleep(GATHER_MS, false);
    if (!this.#isWoken) await this.#sleep(SAFETY_POLL_MS, true);
  }

  /** Ends early when there is news, if `wakeable`, and when the channel stops. */
  #sleep(ms: number, wakeable: boolean): Promise<void> {
    if (this.#isStopped || (wakeable && this.#isWoken && this.holds())) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        this.#endSleep = null;
        resolve();
      };
      const cancel = this.#ports.clock.after(ms, done);
      this.#endSleep = () => {
        if (wakeable || this.#isStopped) done();
      };
    });
  }
}
