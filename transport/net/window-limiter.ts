/**
 * Counts by key in fixed windows, in bounded memory: so many a minute from one address, so many an hour from one node.
 * Where what is spent is to come back evenly, use `token-bucket.ts`.
 */
import { sourceNetwork } from './source-networks.ts';

/** How many, for how long, and of how many keys. */
export interface WindowLimits {
  /** How many are within limits in one window, at least 1. */
  readonly perWindowMax: number;
  readonly windowMs: number;
  /** Keys remembered at once; the oldest window is forgotten first. */
  readonly keysMax: number;
}

/** Where the time of a window comes from, in ms: Unix or monotonic. One that is set back begins new windows. */
export interface WindowClock {
  nowMs(): number;
}

/** Counts by key. */
export interface WindowLimiter {
  /** Counts one more, or so many. 0 while within limits, else the ms until the window ends. */
  add(key: string, amount?: number): number;
  /** What `add` would answer for one more, without counting. */
  waitMs(key: string): number;
  /** One that was counted did not count after all. Nothing, where its window is over. */
  takeBack(key: string): void;
}

interface Window {
  readonly sinceMs: number;
  count: number;
}

/** Nothing counted yet. A window starts with the first count of a key and lasts `windowMs`. */
export function createWindowLimiter(limits: WindowLimits, clock: WindowClock): WindowLimiter {
  const { perWindowMax, windowMs, keysMax } = limits;
  const windows = new Map<string, Window>(); // the oldest first

  function current(key: string, nowMs: number): Window | undefined {
    const known = windows.get(key);
    return known !== undefined && nowMs >= known.sinceMs && nowMs < known.sinceMs + windowMs ? known : undefined;
  }

  function begin(key: string, nowMs: number): Window {
    windows.delete(key); // so that insertion order stays the order of age
    if (windows.size >= keysMax) windows.delete(windows.keys().next().value ?? '');
    const window = { sinceMs: nowMs, count: 0 };
    windows.set(key, window);
    return window;
  }

  const waitOf = (count: number, sinceMs: number, nowMs: number): number =>
    count <= perWindowMax ? 0 : sinceMs + windowMs - nowMs;

  return {
    add(key, amount = 1) {
      const nowMs = clock.nowMs();
      const window = current(key, nowMs) ?? begin(key, nowMs);
      window.count += amount;
      return waitOf(window.count, window.sinceMs, nowMs);
    },
    waitMs(key) {
      const nowMs = clock.nowMs();
      const window = current(key, nowMs);
      return window === undefined ? 0 : waitOf(window.count + 1, window.sinceMs, nowMs);
    },
    takeBack(key) {
      const window = current(key, clock.nowMs());
      if (window !== undefined && window.count > 0) window.count -= 1;
    },
  };
}

/** The same by address: of an IPv6 address the /64 is counted, since one machine has all of it. */
export function createAddressLimiter(limits: WindowLimits, clock: WindowClock): WindowLimiter {
  const limiter = createWindowLimiter(limits, clock);
  return {
    add: (address, amount) => limiter.add(sourceNetwork(address), amount),
    waitMs: (address) => limiter.waitMs(sourceNetwork(address)),
    takeBack: (address) => {
      limiter.takeBack(sourceNetwork(address));
    },
  };
}
