/** How often one address may do what needs no key. */
import type { Clock } from '../actors/ports.ts';
import type { Refusal } from '../actors/refusal.ts';
import type { AnyOperation } from './operation.ts';
import type { Caller } from './principals.ts';
import { createTally, type Tally } from './tally.ts';

/** Addresses remembered at once; the oldest is forgotten first (L2). */
const ADDRESSES_MAX = 10_000;
const MINUTE_MS = 60_000;

/** Calls of operations that have a limit by address. */
export interface Hurry {
  /** Counts one; why it is refused, when there were too many. */
  begin(operation: AnyOperation, caller: Caller): Refusal | null;
  /** It did nothing. */
  takeBack(operation: AnyOperation, caller: Caller): void;
}

/** Nothing counted yet. */
export function createHurry(clock: Pick<Clock, 'nowMs'>): Hurry {
  const tallies = new Map<string, Tally>();

  function tallyOf({ name, fromOneAddressPerMinuteMax: perWindowMax }: AnyOperation): Tally | null {
    if (perWindowMax === null) return null;
    const tally =
      tallies.get(name) ?? createTally({ perWindowMax, windowMs: MINUTE_MS, entriesMax: ADDRESSES_MAX }, clock);
    tallies.set(name, tally);
    return tally;
  }

  return {
    begin(operation, { address }) {
      const tally = tallyOf(operation);
      const waitMs = tally?.wait(address) ?? 0;
      if (waitMs > 0)
        return {
          code: 'rate_limited',
          message: 'Too many of these were asked for from this address.',
          retryAfterSeconds: Math.ceil(waitMs / 1_000),
        };
      tally?.add(address);
      return null;
    },
    takeBack(operation, { address }) {
      tallyOf(operation)?.add(address, -1);
    },
  };
}
