/** Who may knock: bounds on connections that are not logged in, and on failures. */
import { isIP } from 'node:net';
import { createFailures } from '../failures.ts';
import type { CountedFailures } from '../failures.ts';
import { FAILURE_ADDRESSES_MAX, FAILURE_DELAY_MS } from './limits.ts';
import type { SshLimits } from './limits.ts';

/** Counts strangers and their failures. `nowMs` is monotonic, in ms. */
export class Admission {
  readonly #limits: SshLimits;
  readonly #strangers = new Map<string, number>();
  readonly #failures: CountedFailures;

  constructor(limits: SshLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#failures = createFailures({ perMinuteMax: limits.failuresMax, addressesMax: FAILURE_ADDRESSES_MAX }, nowMs);
  }

  /**
   * Lets a new connection in, which is to be given back by `leave` once it is logged in or over. Or says in one line
   * why not.
   */
  enter(address: string): string | null {
    const source = sourceOf(address);
    const ofSource = this.#strangers.get(source) ?? 0;
    if (!isLoopback(source)) {
      if (ofSource >= this.#limits.strangersPerAddressMax)
        return 'too many connections of your address are logging in: try again in a moment';
      if (this.#failures.isSpent(source)) return 'too many failed logins from your address: try again in a minute';
    }
    this.#strangers.set(source, ofSource + 1);
    return null;
  }

  /** This connection is no stranger any more. */
  leave(address: string): void {
    const source = sourceOf(address);
    const left = (this.#strangers.get(source) ?? 1) - 1;
    if (left > 0) this.#strangers.set(source, left);
    else this.#strangers.delete(source);
  }

  /**
   * A wrong password or signature came from there. Answers how long the no is to wait, in ms. Behind loopback are all
   * who come through an admin, so there nobody is shut out: only what failed waits.
   */
  fail(address: string): number {
    return this.#failures.add(sourceOf(address)) > 0 ? FAILURE_DELAY_MS : 0;
  }
}

/**
 * What counts as one address: IPv4 also in its mapped form; of IPv6 the network of 64 bits, of which everybody has one
 * at least.
 */
function sourceOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/u, '').replace(/%.*$/u, '');
  if (isIP(plain) !== 6 || plain === '::1') return plain;
  const [head = '', tail] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(8 - left.length - right.length).fill('0');
  return [...left, ...zeros, ...right].slice(0, 4).join(':');
}

function isLoopback(source: string): boolean {
  return source === '::1' || source.startsWith('127.');
}
