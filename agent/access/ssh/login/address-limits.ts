/** What one address may do before it is logged in: connections at once, and failures within a while. */
import { isLoopbackAddress } from '../../../../transport/net/addresses.ts';
import { Places } from '../../../../transport/net/places.ts';
import { sourceNetwork } from '../../../../transport/net/source-networks.ts';
import { createAddressLimiter, type WindowLimiter } from '../../../../transport/net/window-limiter.ts';
import type { SshLimits } from '../limits.ts';

/**
 * How long an answer waits from loopback, where nobody can be told apart, once there were too many failures, in ms.
 * Only a no waits.
 */
export const FAILURE_DELAY_MS = 2_000;

/** The window in which failed logins of one address are counted, in ms. */
export const FAILURE_WINDOW_MS = 60_000;

/** Addresses whose failures are remembered; the oldest is forgotten for a new one. */
const FAILURE_ADDRESSES_MAX = 1_024;

/** Counts connections that are not logged in, and failures. `nowMs` is monotonic, in ms. */
export class AddressLimits {
  readonly #unauthenticated: Places;
  readonly #failures: WindowLimiter;

  constructor(limits: SshLimits, nowMs: () => number = () => performance.now()) {
    this.#unauthenticated = new Places({ ofOneMax: limits.unauthenticatedPerAddressMax });
    this.#failures = createAddressLimiter(
      { perWindowMax: limits.failuresMax, windowMs: FAILURE_WINDOW_MS, keysMax: FAILURE_ADDRESSES_MAX },
      { nowMs },
    );
  }

  /**
   * Lets a new connection in: what is to be called once it is logged in or over. Or says in one line why not. Behind
   * loopback nobody can be told apart, and nobody is counted.
   */
  enter(address: string): (() => void) | string {
    if (isLoopbackAddress(address)) return () => {};
    if (this.#failures.waitMs(address) > 0) return 'too many failed logins from your address: try again in a minute';
    const leave = this.#unauthenticated.take(sourceNetwork(address));
    return leave ?? 'too many connections of your address are logging in: try again in a moment';
  }

  /**
   * A wrong password or signature came from there. Answers how long the no is to wait, in ms. Behind loopback are all
   * who come through an admin, so there nobody is shut out: only what failed waits.
   */
  fail(address: string): number {
    return this.#failures.add(address) > 0 ? FAILURE_DELAY_MS : 0;
  }
}
