/** Counts something by address in fixed windows, in bounded memory. */
import type { Clock } from '../actors/kit/ports.ts';

export interface TallyLimits {
  /** How many are within limits in one window. */
  readonly perWindowMax: number;
  readonly windowMs: number;
  /** Addresses remembered at once; the oldest window is forgotten first. */
  readonly entriesMax: number;
}

export interface Tally {
  /** Counts one more. 0 while within limits, else the ms until the window ends. */
  add(address: string): number;
}

/** A tally. A window starts with the first count of an address and lasts `windowMs`. */
export function createTally({ perWindowMax, windowMs, entriesMax }: TallyLimits, clock: Pick<Clock, 'nowMs'>): Tally {
  const windows = new Map<string, { readonly sinceMs: number; count: number }>();
  return {
    add(address) {
      const nowMs = clock.nowMs();
      const known = windows.get(address);
      if (known !== undefined && nowMs < known.sinceMs + windowMs) {
        known.count += 1;
        return known.count <= perWindowMax ? 0 : known.sinceMs + windowMs - nowMs;
      }
      windows.delete(address); // so that insertion order stays the order of age
      if (windows.size >= entriesMax) windows.delete(windows.keys().next().value ?? '');
      windows.set(address, { sinceMs: nowMs, count: 1 });
      return perWindowMax >= 1 ? 0 : windowMs;
    },
  };
}
