/** The real clocks. Timers never keep the process alive. */
import { startTimer } from './streams/timer.ts';
import { aliveMs } from './uptime.ts';

/** Time of this machine: a `Clock` of actors and of agents. The function that `after` answers cancels. */
export const systemClock = {
  nowMs: (): number => Date.now(),
  after: (ms: number, run: () => void): (() => void) => startTimer(ms, run),
};

/**
 * A clock for rates and intervals: goes on while the process is paused, never jumps, and stands still while the machine
 * is suspended. In ms.
 */
export function monotonicMs(): number {
  return performance.now();
}

/** The clocks by which time that passed is noticed, each in ms. They agree but for when they begin. */
export interface LeaseWitnesses {
  /** CLOCK_MONOTONIC: does not run while the machine is suspended. */
  monotonicMs(): number;
  /** CLOCK_BOOTTIME: runs on while the machine is suspended, not while its hypervisor stops it. */
  bootMs(): number;
  /** Unix time: somebody may set it, and after a hypervisor's pause somebody does. */
  wallMs(): number;
}

/**
 * A witness that runs ahead of the monotonic clock by more than this between two looks, in ms, tells of a time in which
 * the machine stood still.
 * Well above the 10 ms in which the uptime is counted and what NTP slews between two rounds of ownership (0.5 ms a
 * second); well below any lease.
 */
export const STOOD_STILL_MS_MIN = 250;

/** Those of this machine. */
export const SYSTEM_WITNESSES: LeaseWitnesses = { monotonicMs, bootMs: aliveMs, wallMs: () => Date.now() };

/** The uptime is not read again sooner, in ms: a reading costs 3 µs, and every message asks for the time. */
const READINGS_APART_MS_MIN = 2;

/**
 * A clock as fine as the monotonic one, in ms from no certain moment, that counts the time in which this machine was
 * suspended, but for STOOD_STILL_MS_MIN of it, and READINGS_APART_MS_MIN after it woke. Never goes back, and does not
 * follow a wall clock that is set. A hypervisor's pause is not in it.
 */
export function createBootClock(witnesses: Pick<LeaseWitnesses, 'monotonicMs' | 'bootMs'> = SYSTEM_WITNESSES) {
  const { monotonicMs: readMs, bootMs } = witnesses;
  let aheadMs = bootMs() - readMs();
  let readAtMs = -Infinity;
  return (): number => {
    const beforeMs = readMs();
    const sinceMs = beforeMs - readAtMs;
    if (sinceMs >= 0 && sinceMs < READINGS_APART_MS_MIN) return beforeMs + aheadMs;
    readAtMs = beforeMs;
    const boot = bootMs();
    const nowMs = readMs(); // read last: a pause of the process in between is never taken for a suspend
    if (boot - nowMs - aheadMs > STOOD_STILL_MS_MIN) aheadMs = boot - nowMs;
    return nowMs + aheadMs;
  };
}

/**
 * A clock for leases, in ms: never goes back, and counts the time in which this machine was suspended or paused as
 * passed (O2), so that whoever held a lease before asks the database again. A wall clock that is set forward counts as
 * passed time too: that costs one question. Set back it costs nothing. Where nobody set the wall clock after a suspend,
 * it is noticed READINGS_APART_MS_MIN after it at the latest.
 * A hypervisor's pause after which nobody sets the wall clock cannot be seen from inside; then the epoch that each
 * write carries decides alone.
 */
export function createLeaseClock(witnesses: LeaseWitnesses = SYSTEM_WITNESSES): () => number {
  let stoodStillMs = 0;
  let bootReadAtMs = witnesses.monotonicMs();
  let aheadMs = readAhead();

  /**
   * How far each witness is ahead of the monotonic clock, which is read last: a pause in between is counted, never
   * hidden.
   */
  function readAhead(): { readonly boot: number; readonly wall: number; readonly nowMs: number } {
    const [boot, wall] = [witnesses.bootMs(), witnesses.wallMs()];
    const nowMs = witnesses.monotonicMs();
    bootReadAtMs = nowMs;
    return { boot: boot - nowMs, wall: wall - nowMs, nowMs };
  }

  /** The same without the uptime, which was read a moment ago; null: it has to be read, as the wall clock jumped. */
  function readWallAhead(): typeof aheadMs | null {
    const wallMs = witnesses.wallMs();
    const nowMs = witnesses.monotonicMs();
    const sinceMs = nowMs - bootReadAtMs;
    const wall = wallMs - nowMs;
    const isEnough =
      sinceMs >= 0 && sinceMs < READINGS_APART_MS_MIN && Math.abs(wall - aheadMs.wall) <= STOOD_STILL_MS_MIN;
    return isEnough ? { boot: aheadMs.boot, wall, nowMs } : null;
  }

  return () => {
    const now = readWallAhead() ?? readAhead();
    const jumpMs = Math.max(now.boot - aheadMs.boot, now.wall - aheadMs.wall);
    if (jumpMs > STOOD_STILL_MS_MIN) stoodStillMs += jumpMs;
    aheadMs = now;
    return now.nowMs + stoodStillMs;
  };
}
