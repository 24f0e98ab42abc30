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

/** A running channel. */
export interface Channel {
  /** There may be work. */
  wake(): void;
  /** Whether this admin serves it, by its own lease clock: one that was paused or suspended must not go on (O1). */
  holds(): boolean;
  /** Tries for the lease once, then goes on by itself. */
  start(): Promise<void>;
  /** Gives the lease back. Resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** A channel, not started. */
export function createChannel(ports: ChannelPorts): Channel {
  const { name, lease, leaseMs, clock, leaseClockMs, log } = ports;
  let epoch: number | null = null;
  let heldUntilMs = 0;
  let stopped = false;
  let isWoken = true;
  let failures = 0;
  let isAway = false;
  let endSleep: (() => void) | null = null;
  let cancelRenewal = (): void => {};
  let renewing: Promise<void> = Promise.resolve();
  let running: Promise<void> = Promise.resolve();

  const holds = (): boolean => epoch !== null && leaseClockMs() < heldUntilMs;

  function lose(): void {
    if (epoch === null) return;
    epoch = null;
    log.info({ channel: name }, 'another admin publishes these events now');
    ports.lost();
  }

  /** One after another: a round is never in the way of the one before. */
  function renew(): Promise<void> {
    renewing = renewing.then(tryToHold);
    return renewing;
  }

  async function tryToHold(): Promise<void> {
    try {
      await hold();
      isAway = false;
    } catch (error) {
      isAway = error instanceof DatabaseUnavailable;
      if (isAway) log.debug({ channel: name }, 'a channel of events waits for the database');
      else log.error({ error, channel: name }, 'a channel of events could not be held: trying again');
    }
  }

  /**
   * A lease that ran out by this admin's clock, if only for a moment, is never renewed: what was not done meanwhile is
   * taken up under a new epoch.
   */
  async function hold(): Promise<void> {
    if (epoch !== null && holds()) {
      const renewedAtMs = leaseClockMs();
      if (!(await lease.renew(epoch))) lose();
      else if (holds()) {
        heldUntilMs = renewedAtMs + leaseMs;
        return;
      }
    }
    if (stopped) return;
    const claimedAtMs = leaseClockMs();
    const claimed = await lease.claim();
    if (claimed === null) return lose();
    epoch = claimed;
    heldUntilMs = claimedAtMs + leaseMs;
    endSleep?.();
  }

  function schedule(): void {
    if (stopped) return;
    cancelRenewal = clock.after(isAway ? BACK_OFF_MS : RENEW_MS, () => void renew().then(schedule));
  }

  async function run(): Promise<void> {
    for (;;) {
      if (stopped) return;
      if (epoch === null || !holds()) {
        await sleep(SAFETY_POLL_MS, true);
        continue;
      }
      isWoken = false;
      const outcome = await attempt(epoch);
      if (outcome === 'failed')
        await sleep(Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** (failures - 1)) * (0.5 + ports.random() / 2), false);
      else if (outcome === 'away') await sleep(BACK_OFF_MS, false);
      else if (outcome === 'lost') await renew();
      else if (outcome === 'soon') await sleep(SETTLE_MS, false);
      else if (outcome !== 'more') await rest();
    }
  }

  async function attempt(held: number): Promise<Outcome | 'failed' | 'away'> {
    try {
      const outcome = await ports.work(held);
      failures = 0;
      if (outcome === 'lost' && epoch === held) heldUntilMs = 0; // whoever is lost to, the next claim says
      return outcome;
    } catch (error) {
      if (stopped) return 'failed';
      if (error instanceof DatabaseUnavailable) {
        log.debug({ channel: name }, 'a channel of events waits for the database');
        return 'away';
      }
      failures += 1;
      // Once at the beginning of an outage: what goes on is seen in health and metrics.
      if (failures === 1)
        log.warn({ channel: name, error: (error as Error).message }, 'events cannot be published now: they wait');
      else log.debug({ channel: name, error: (error as Error).message, failures }, 'events still cannot be published');
      return 'failed';
    }
  }

  async function rest(): Promise<void> {
    await sleep(GATHER_MS, false);
    if (!isWoken) await sleep(SAFETY_POLL_MS, true);
  }

  /** Ends early when there is news, if `wakeable`, and when the channel stops. */
  function sleep(ms: number, wakeable: boolean): Promise<void> {
    if (stopped || (wakeable && isWoken && holds())) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        endSleep = null;
        resolve();
      };
      const cancel = clock.after(ms, done);
      endSleep = () => {
        if (wakeable || stopped) done();
      };
    });
  }

  return {
    holds,
    wake() {
      isWoken = true;
      endSleep?.();
    },
    async start() {
      await renew();
      schedule();
      running = run();
    },
    async stop() {
      stopped = true;
      cancelRenewal();
      endSleep?.();
      await running;
      await renewing;
      const held = epoch;
      epoch = null;
      if (held === null) return;
      try {
        await lease.release(held);
      } catch (error) {
        log.debug(
          { channel: name, error: (error as Error).message },
          'a channel of events was not released: its lease runs out',
        );
      }
    },
  };
}
