/**
 * A channel of events: one admin serves it at a time, as long as there is work, and sleeps until it is told that there
 * is more.
 */
import { DatabaseUnavailable } from '../../actors/ports.ts';
import { HeldTask, type HeldTaskPorts } from '../tasks/held-task.ts';

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
 * After so long with failures alone another admin may try, in ms: this one may have lost its way to what it publishes
 * to. Where all have, the channel changes hands no faster than that.
 */
export const GIVE_WAY_AFTER_MS = 60_000;

/**
 * What a piece of work came to: there is more, there will be soon, there is none, there is none and whether it could be
 * done is not shown yet, or another admin serves the channel now.
 */
export type Outcome = 'more' | 'soon' | 'none' | 'untried' | 'lost';

/** What a channel needs. */
export interface ChannelPorts extends HeldTaskPorts {
  /** Jitter of waits, from 0 to 1. */
  readonly random: () => number;
  /** One bounded piece of work. What it throws is logged and tried again, later each time. */
  work(epoch: number): Promise<Outcome>;
  /** Another admin serves it now, or may. */
  lost(): void;
  /** Whether another admin is there that may do better, where this one does nothing but fail. */
  mayGiveWay(): boolean;
}

/** A channel, not started. */
export class Channel {
  readonly #ports: ChannelPorts;
  readonly #held: HeldTask;
  #isStopped = false;
  #isWoken = true;
  #failures = 0;
  /** The first failure since the lease was gained or work was done, by the lease clock. */
  #failingSinceMs: number | null = null;
  #endSleep: (() => void) | null = null;
  #running: Promise<void> = Promise.resolve();
  #working: Promise<unknown> = Promise.resolve();

  constructor(ports: ChannelPorts) {
    this.#ports = ports;
    this.#held = new HeldTask({
      ...ports,
      gained: () => this.#endSleep?.(),
      idle: () => this.#working,
      lost: () => {
        ports.log.info({ channel: ports.name }, 'another admin publishes these events now');
        this.#left();
      },
    });
  }

  /** Tries for the lease once, then goes on by itself. */
  async start(): Promise<void> {
    await this.#held.start();
    this.#running = this.#run();
  }

  /** Gives the lease back. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#held.halt();
    this.#endSleep?.();
    await this.#running;
    await this.#held.release();
  }

  /** There may be work. */
  wake(): void {
    this.#isWoken = true;
    this.#endSleep?.();
  }

  /** Whether this admin serves it, by its own lease clock: one that was paused or suspended must not go on (O1). */
  holds(): boolean {
    return this.#held.holds();
  }

  async #run(): Promise<void> {
    for (;;) {
      if (this.#isStopped) return;
      const epoch = this.#held.epoch();
      if (epoch === null) {
        await this.#sleep(SAFETY_POLL_MS, true);
        continue;
      }
      this.#isWoken = false;
      const working = this.#attempt(epoch);
      this.#working = working;
      const outcome = await working;
      if (outcome === 'failed') await (this.#isHopeless() ? this.#giveWay() : this.#sleep(this.#backOffMs(), false));
      else if (outcome === 'away') await this.#sleep(BACK_OFF_MS, false);
      else if (outcome === 'lost') await this.#held.renew();
      else if (outcome === 'soon') await this.#sleep(SETTLE_MS, false);
      else if (outcome !== 'more') await this.#rest();
    }
  }

  #isHopeless(): boolean {
    const since = this.#failingSinceMs;
    return since !== null && this.#ports.leaseClockMs() - since >= GIVE_WAY_AFTER_MS && this.#ports.mayGiveWay();
  }

  async #giveWay(): Promise<void> {
    const { name, log } = this.#ports;
    log.info({ channel: name }, 'these events cannot be published from here: another admin may try');
    this.#left();
    await this.#held.giveWay();
  }

  #left(): void {
    this.#failingSinceMs = null;
    this.#ports.lost();
  }

  #backOffMs(): number {
    return Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** (this.#failures - 1)) * (0.5 + this.#ports.random() / 2);
  }

  async #attempt(held: number): Promise<Outcome | 'failed' | 'away'> {
    try {
      const outcome = await this.#ports.work(held);
      if (outcome !== 'untried') {
        this.#failures = 0;
        this.#failingSinceMs = null;
      }
      if (outcome === 'lost') this.#held.isOver(held); // whoever is lost to, the next claim says
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
    this.#failingSinceMs ??= this.#ports.leaseClockMs();
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
