/** Counts something by address in fixed windows, in bounded memory. */
import type { Clock } from '../actors/kit/ports.ts';

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
  /** Counts one more. 0 while within limits, else the ms until the window ends. */
  add(address: string): number;
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
  const waitOf = (count: number, sinceMs: number, nowMs: number) => (count <= perWindowMax ? 0 : sinceMs + windowMs - nowMs);

  return {
    add(address) {
      const nowMs = clock.nowMs();
      const known = current(address, nowMs);
      if (known !== undefined) {
        known.count += 1;
        return waitOf(known.count, known.sinceMs, nowMs);
      }
      windows.delete(address); // so that insertion order stays the order of age
      if (windows.size >= entriesMax) windows.delete(windows.keys().next().value ?? '');
      windows.set(address, { sinceMs: nowMs, count: 1 });
      return 0;
    },
    wait(address) {
      const nowMs = clock.nowMs();
      const known = current(address, nowMs);
      return known === undefined ? 0 : waitOf(known.count + 1, known.sinceMs, nowMs);
    },
  };
}
