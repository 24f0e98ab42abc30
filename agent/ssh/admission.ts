/** Who may knock: bounds on connections that are not logged in, and on failures. */
import { isIP } from 'node:net';
import { FAILURE_ADDRESSES_MAX, FAILURE_DELAY_MS, FAILURE_WINDOW_MS } from './limits.ts';
import type { SshLimits } from './limits.ts';

/** Counts strangers and their failures. `nowMs` is monotonic, in ms. */
export class Admission {
  readonly #limits: SshLimits;
  readonly #nowMs: () => number;
  readonly #strangers = new Map<string, number>();
  readonly #failures = new Map<string, { count: number; sinceMs: number }>();

  constructor(limits: SshLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** Lets a new connection in, which is to be given back by `leave` once it is logged in or over. Or says in one line why not. */
  enter(address: string): string | null {
    const source = sourceOf(address);
    const ofSource = this.#strangers.get(source) ?? 0;
    if (!isLoopback(source)) {
      if (ofSource >= this.#limits.strangersPerAddressMax) return 'too many connections of your address are logging in: try again in a moment';
      if (this.#failed(source) >= this.#limits.failuresMax) return 'too many failed logins from your address: try again in a minute';
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
   * A wrong password or signature came from there. Answers how long the no is to wait, in ms. Behind loopback are all who come
   * through an admin, so there nobody is shut out: only what failed waits.
   */
  fail(address: string): number {
    const source = sourceOf(address);
    const nowMs = this.#nowMs();
    const count = this.#failed(source) + 1;
    const sinceMs = count === 1 ? nowMs : this.#failures.get(source)?.sinceMs ?? nowMs;
    this.#failures.delete(source);
    this.#failures.set(source, { count, sinceMs });
    if (this.#failures.size > FAILURE_ADDRESSES_MAX) {
      const [oldest] = this.#failures.keys();
      if (oldest !== undefined) this.#failures.delete(oldest);
    }
    return count > this.#limits.failuresMax ? FAILURE_DELAY_MS : 0;
  }

  #failed(source: string): number {
    const entry = this.#failures.get(source);
    return entry === undefined || this.#nowMs() - entry.sinceMs >= FAILURE_WINDOW_MS ? 0 : entry.count;
  }
}

/** What counts as one address: IPv4 also in its mapped form; of IPv6 the network of 64 bits, of which everybody has one at least. */
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
