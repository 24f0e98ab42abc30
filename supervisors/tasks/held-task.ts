/** A task that one admin does at a time: who may do it now, by a lease that is renewed for as long as it is held. */
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';

/**
 * How often a lease is renewed, or one of another admin is tried for, in ms: three times within the 3 s of a lease, as
 * those of clusters are.
 */
export const RENEW_MS = 1_000;

/** The next try while the database is away, in ms: service is back within 3 s of its return (L3). */
const AWAY_MS = 500;

/** How long a task that was given to others is not claimed again, in ms: each of them has tried for it by then. */
export const GIVEN_MS = 3 * RENEW_MS;

/** Who may do the task, by the database's clock. */
export interface TaskLease {
  /** The epoch under which it is held now; null: by another. */
  claim(): Promise<number | null>;
  /** False: another took it. */
  renew(epoch: number): Promise<boolean>;
  release(epoch: number): Promise<void>;
}

/** What a task needs to be held. `leaseMs` is what the database grants. */
export interface HeldTaskPorts {
  readonly name: string;
  readonly lease: TaskLease;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** By which the lease runs out: runs on while this machine is suspended. */
  readonly leaseClockMs: () => number;
  /** Whether this admin takes tasks: not while it is drained, or stops, and others live that take them. */
  readonly takesTasks: () => boolean;
  readonly log: Log;
}

/** What is told when the task changes hands. Each returns at once. */
export interface TaskHands {
  /** It is held under this epoch from now on: the first one, or the next after the lease had run out. */
  gained(epoch: number): void;
  /** Another admin has it now, or takes it next. */
  lost(): void;
  /**
   * Resolves when nothing is under way that was begun while the task was held: a lease that is left to others is given
   * back after that. Never rejects; left out, that is so once it is lost.
   */
  idle?(): Promise<unknown>;
}

/** The right to do a task, not tried for yet. */
export class HeldTask {
  readonly #ports: HeldTaskPorts & TaskHands;
  /** Null: another admin has the lease, as far as is known. */
  #epoch: number | null = null;
  #heldUntilMs = 0;
  /** Not claimed before, by the lease clock. */
  #claimedFromMs = 0;
  #isHalted = false;
  #isAway = false;
  #cancelRenewal = (): void => {};
  #renewing: Promise<void> = Promise.resolve();

  constructor(ports: HeldTaskPorts & TaskHands) {
    this.#ports = ports;
  }

  /** Tries for the lease once, then goes on by itself. */
  async start(): Promise<void> {
    await this.renew();
    this.#schedule();
  }

  /** The lease is neither renewed nor claimed any more; what is held stays held until it is given back or runs out. */
  halt(): void {
    this.#isHalted = true;
    this.#cancelRenewal();
  }

  /** Gives the lease back, once a renewal under way is over. Where that fails, it runs out. Never rejects. */
  async release(): Promise<void> {
    this.halt();
    await this.#renewing;
    await this.#giveBack();
  }

  /** Gives the lease back to whoever else claims it within GIVEN_MS; nobody is told that it is lost. Never rejects. */
  giveWay(): Promise<void> {
    this.#renewing = this.#renewing.then(() => this.#giveToOthers());
    return this.#renewing;
  }

  async #giveToOthers(): Promise<void> {
    await this.#giveBack();
    this.#claimedFromMs = this.#ports.leaseClockMs() + GIVEN_MS;
  }

  async #giveBack(): Promise<void> {
    const held = this.#epoch;
    this.#epoch = null;
    if (held !== null) await this.#release(held);
  }

  /**
   * Begins nothing more, and gives the lease back once all of it is over: what ends in that time is stored under it, so
   * that nobody does it again; requests of webhooks that are under way are cut, and sent again by the next admin. What
   * takes longer than the lease, which is not renewed, is as if it had been lost.
   */
  async #leave(): Promise<void> {
    const { name, log } = this.#ports;
    const held = this.#epoch;
    if (held === null) return;
    this.#epoch = null;
    log.info({ what: name }, 'this admin is drained: a task that one admin does at a time is left to the others');
    await this.#ports.idle?.();
    this.#ports.lost();
    await this.#release(held);
  }

  async #release(held: number): Promise<void> {
    const { name, lease, log } = this.#ports;
    try {
      await lease.release(held);
    } catch (error) {
      log.debug({ what: name, error: (error as Error).message }, 'a task was not given back: its lease runs out');
    }
  }

  /** Whether this admin does it, by its own lease clock: one that was paused or suspended must not go on (O1). */
  holds(): boolean {
    return this.#epoch !== null && this.#ports.leaseClockMs() < this.#heldUntilMs;
  }

  /** The epoch under which this admin does it; null: it does not, or its lease has run out. */
  epoch(): number | null {
    return this.holds() ? this.#epoch : null;
  }

  /** It turned out that this epoch is over: it is not held until the next claim says so. */
  isOver(epoch: number): void {
    if (this.#epoch === epoch) this.#heldUntilMs = 0;
  }

  /** Renews or claims it now. One after another: a try is never in the way of the one before. Never rejects. */
  renew(): Promise<void> {
    this.#renewing = this.#renewing.then(() => this.#tryToHold());
    return this.#renewing;
  }

  #schedule(): void {
    if (this.#isHalted) return;
    this.#cancelRenewal = this.#ports.clock.after(
      this.#isAway ? AWAY_MS : RENEW_MS,
      () => void this.renew().then(() => this.#schedule()),
    );
  }

  async #tryToHold(): Promise<void> {
    const { name, log } = this.#ports;
    try {
      await this.#hold();
      this.#isAway = false;
    } catch (error) {
      this.#isAway = error instanceof DatabaseUnavailable;
      if (this.#isAway) log.debug({ what: name }, 'the lease of a task waits for the database');
      else log.error({ error, what: name }, 'a task could not be held: trying again');
    }
  }

  /**
   * A lease that ran out by this admin's clock, if only for a moment, is never renewed: what was not done meanwhile is
   * taken up under a new epoch.
   */
  async #hold(): Promise<void> {
    const { lease, leaseMs, leaseClockMs, takesTasks } = this.#ports;
    if (!takesTasks()) return this.#leave();
    if (this.#epoch !== null && this.holds()) {
      const renewedAtMs = leaseClockMs();
      if (!(await lease.renew(this.#epoch))) this.#lose();
      else if (this.holds()) {
        this.#heldUntilMs = renewedAtMs + leaseMs;
        return;
      }
    }
    if (this.#isHalted) return;
    const claimedAtMs = leaseClockMs();
    if (claimedAtMs < this.#claimedFromMs) return;
    const claimed = await lease.claim();
    if (claimed === null) return this.#lose();
    this.#epoch = claimed;
    this.#heldUntilMs = claimedAtMs + leaseMs;
    this.#ports.gained(claimed);
  }

  #lose(): void {
    if (this.#epoch === null) return;
    this.#epoch = null;
    this.#ports.lost();
  }
}
