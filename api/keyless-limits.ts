/** How often one address may do what needs no key. */
import type { Clock } from '../actors/ports.ts';
import type { Refusal } from '../actors/refusal.ts';
import { createAddressLimiter, type WindowLimiter } from '../transport/net/window-limiter.ts';
import type { AnyOperation } from './operation.ts';
import type { Caller } from './principals.ts';

/** Addresses remembered at once; the oldest is forgotten first (L2). */
const ADDRESSES_MAX = 10_000;
const MINUTE_MS = 60_000;

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

  function limiterOf(
    { name, fromOneAddressPerMinuteMax: doneMax }: AnyOperation,
    kind: 'asked' | 'done',
  ): WindowLimiter | null {
    if (doneMax === null) return null;
    const perWindowMax = kind === 'done' ? doneMax : REPEATS_MAX * doneMax;
    const limiter =
      limiters.get(`${kind} ${name}`) ??
      createAddressLimiter({ perWindowMax, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX }, clock);
    limiters.set(`${kind} ${name}`, limiter);
    return limiter;
  }

  function counted(limiter: WindowLimiter | null, address: string): Refusal | null {
    const waitMs = limiter?.waitMs(address) ?? 0;
    if (waitMs > 0)
      return {
        code: 'rate_limited',
        message: 'Too many of these were asked for from this address.',
        retryAfterSeconds: Math.ceil(waitMs / 1_000),
      };
    limiter?.add(address);
    return null;
  }

  return {
    ask: (operation, { address }) => counted(limiterOf(operation, 'asked'), address),
    begin: (operation, { address }) => counted(limiterOf(operation, 'done'), address),
    takeBack(operation, { address }) {
      limiterOf(operation, 'done')?.takeBack(address);
    },
  };
}
