/**
 * Durations that survive a restart of the agent: counted on the machine's monotonic clock, over a reboot on the wall
 * clock.
 */
import { readFileSync } from 'node:fs';
import { aliveMs } from '../../transport/net/uptime.ts';

/** Time as this machine sees it. */
export interface Timeline {
  /** Changes with every boot. */
  readonly bootId: string;
  /** ms since boot, without the time asleep; comparable between processes of one boot. */
  monotonicMs(): number;
  /** ms since boot, with the time asleep, to 10 ms: what expires meanwhile has expired (C8). */
  aliveMs(): number;
  /** Unix time in ms. */
  wallMs(): number;
}

/** A moment, so that any later process of this machine can say how long ago it was. */
export interface Stamp {
  readonly bootId: string;
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** This machine's time, from CLOCK_MONOTONIC and the kernel's boot id. */
export function machineTimeline(): Timeline {
  return {
    bootId: readBootId(),
    monotonicMs: () => Number(process.hrtime.bigint() / 1_000_000n),
    aliveMs,
    wallMs: () => Date.now(),
  };
}

/** This instant, in a form that can be stored and still be measured from after a restart or a reboot. */
export function stampNow(timeline: Timeline): Stamp {
  return { bootId: timeline.bootId, monotonicMs: timeline.monotonicMs(), wallMs: timeline.wallMs() };
}

/** ms since `stamp`: exact within one boot, by the wall clock (never below 0) after another. */
export function elapsedMs(stamp: Stamp, timeline: Timeline): number {
  const elapsed =
    stamp.bootId === timeline.bootId ? timeline.monotonicMs() - stamp.monotonicMs : timeline.wallMs() - stamp.wallMs;
  return Math.max(0, elapsed);
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown'; // no /proc: all of time is one boot, and only suspends can make that wrong
  }
}
