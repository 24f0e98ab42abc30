/** Counts something by address in fixed windows, in bounded memory. An IPv6 address counts as its /64. */
import type { Clock } from '../actors/ports.ts';
import { sourceNetwork } from '../transport/protocol/source-networks.ts';

/** What is counted, for how long, and of how many. */
export interface TallyLimits {
  /** How many are within limits in one window, at least 1. */
  readonly perWindowMax: number;
  readonly windowMs: number;
  /** Addresses remembered at once; the oldest window is forgotten first. */
  readonly entriesMax: number;
}

/** Counts by address. */
export interface Tally {
  /** Counts one more, or so many (fewer: taken back). 0 while within limits, else the ms until the window ends. */
  add(address: string, amount?: number): number;
  /** What `add` would answer, without counting. */
  wait(address: string): number;
}

interface Window {
  readonly sinceMs: number;
  count: number;
}

/** A tally. A window starts with the first count of an address and lasts `windowMs`. */
export function createTally({ perWindowMax, windowMs, entriesMax }: TallyLimits, clock: Pick<Clock, 'nowMs'>): Tally {
  const windows = new Map<string, Window>();

  const current = (address: string, nowMs: number): Window | undefined => {
    const known = windows.get(address);
    return known !== undefined && nowMs < known.sinceMs + windowMs ? known : undefined;
  };
  const waitOf = (count: number, sinceMs: number, nowMs: number) =>
    count <= perWindowMax ? 0 : sinceMs + windowMs - nowMs;

  return {
    add(source, amount = 1) {
      const address = sourceNetwork(source);
      const nowMs = clock.nowMs();
      const known = current(address, nowMs);
      if (known !== undefined) {
        known.count += amount;
        return waitOf(known.count, known.sinceMs, nowMs);
      }
      windows.delete(address); // so that insertion order stays the order of age
      if (windows.size >= entriesMax) windows.delete(windows.keys().next().value ?? '');
      windows.set(address, { sinceMs: nowMs, count: amount });
      return 0;
    },
    wait(address) {
      const nowMs = clock.nowMs();
      const known = current(sourceNetwork(address), nowMs);
      return known === undefined ? 0 : waitOf(known.count + 1, known.sinceMs, nowMs);
    },
  };
}
