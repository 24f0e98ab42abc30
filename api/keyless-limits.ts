/** How often one address may do what needs no key. */
import type { Clock } from '../actors/ports.ts';
import type { Refusal } from '../actors/refusal.ts';
import { createAddressLimiter, type WindowLimiter } from '../transport/net/window-limiter.ts';
import type { AnyOperation } from './operation.ts';
import type { Caller } from './principals.ts';

/** Addresses remembered at once; the oldest is forgotten first (L2). */
const ADDRESSES_MAX = 10_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Calls that may ask for the answer of an earlier one, as a multiple of those that may do something. */
const REPEATS_MAX = 5;

/** Calls of operations that have a limit by address. */
export interface AddressLimits {
  /** Counts one that may be a repeat; why it is refused unread, when there were too many. */
  ask(operation: AnyOperation, caller: Caller): Refusal | null;
  /** Counts one; why it is refused, when there were too many. */
  begin(operation: AnyOperation, caller: Caller): Refusal | null;
  /** It did nothing. */
  takeBack(operation: AnyOperation, caller: Caller): void;
}

/** Nothing counted yet. */
export function createAddressLimits(clock: Pick<Clock, 'nowMs'>): AddressLimits {
  const limiters = new Map<string, WindowLimiter>();

  function limiterOf(key: string, perWindowMax: number | null, windowMs: number): readonly WindowLimiter[] {
    if (perWindowMax === null) return [];
    const limiter =
      limiters.get(key) ?? createAddressLimiter({ perWindowMax, windowMs, keysMax: ADDRESSES_MAX }, clock);
    limiters.set(key, limiter);
    return [limiter];
  }

  const asked = ({ name, fromOneAddressPerMinuteMax: max }: AnyOperation): readonly WindowLimiter[] =>
    limiterOf(`asked ${name}`, max === null ? null : REPEATS_MAX * max, MINUTE_MS);

  const done = (operation: AnyOperation): readonly WindowLimiter[] => [
    ...limiterOf(`minute ${operation.name}`, operation.fromOneAddressPerMinuteMax, MINUTE_MS),
    ...limiterOf(`hour ${operation.name}`, operation.fromOneAddressPerHourMax, HOUR_MS),
  ];

  function counted(all: readonly WindowLimiter[], address: string): Refusal | null {
    const waitMs = Math.max(0, ...all.map((limiter) => limiter.waitMs(address)));
    if (waitMs > 0)
      return {
        code: 'rate_limited',
        message: 'Too many of these were asked for from this address.',
        retryAfterSeconds: Math.ceil(waitMs / 1_000),
      };
    for (const limiter of all) limiter.add(address);
    return null;
  }

  return {
    ask: (operation, { address }) => counted(asked(operation), address),
    begin: (operation, { address }) => counted(done(operation), address),
    takeBack(operation, { address }) {
      for (const limiter of done(operation)) limiter.takeBack(address);
    },
  };
}
