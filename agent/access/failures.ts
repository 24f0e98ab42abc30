/** Counts failed logins by the address that they came from (IPv6: its /64), a minute at a time, in bounded memory. */
import { sourceNetwork } from '../../transport/protocol/source-networks.ts';
import type { Failures } from '../../transport/proxies/admission.ts';

/** The window in which failures are counted, in ms. */
export const MINUTE_MS = 60_000;

/** What is counted, of how many. */
export interface FailureLimits {
  /** How many an address may have in a minute that begins with its first. */
  readonly perMinuteMax: number;
  /** Addresses remembered at once; the oldest is forgotten first. */
  readonly addressesMax: number;
}

/** The counts. */
export interface CountedFailures extends Failures {
  /** Whether an address has had all that it may in its minute. */
  isSpent(address: string): boolean;
}

/** Nothing counted yet. `nowMs` never goes back. */
export function createFailures(
  { perMinuteMax, addressesMax }: FailureLimits,
  nowMs: () => number = () => performance.now(),
): CountedFailures {
  const minutes = new Map<string, { readonly sinceMs: number; count: number }>(); // oldest first
  return {
    add(source) {
      const address = sourceNetwork(source);
      const now = nowMs();
      let minute = minutes.get(address);
      if (minute === undefined || now >= minute.sinceMs + MINUTE_MS) {
        minutes.delete(address); // so that the order stays that of age
        if (minutes.size >= addressesMax) minutes.delete(minutes.keys().next().value ?? '');
        minute = { sinceMs: now, count: 0 };
        minutes.set(address, minute);
      }
      minute.count += 1;
      return minute.count <= perMinuteMax ? 0 : minute.sinceMs + MINUTE_MS - now;
    },
    isSpent(address) {
      const minute = minutes.get(sourceNetwork(address));
      return minute !== undefined && nowMs() < minute.sinceMs + MINUTE_MS && minute.count >= perMinuteMax;
    },
  };
}
