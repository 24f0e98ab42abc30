/** Who may ask the resolver, and how much. */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { isLoopbackAddress, plainAddress } from '../../../transport/net/addresses.ts';
import { createWindowLimiter } from '../../../transport/net/window-limiter.ts';
import { ALL_QUERIES_PER_SECOND_MAX, QUERIES_PER_SECOND_MAX } from './limits.ts';

/** Decides on each query. */
export interface Admission {
  /** Whether a query of this address is answered. Counts it. */
  admits(address: string): boolean;
}

/** What it asks. */
export interface AdmissionOptions {
  /** Of the cluster: its members may ask. */
  readonly ranges: () => readonly string[];
  /** Monotonic, in ms. */
  readonly nowMs: () => number;
  /** Addresses of this machine; those of its interfaces unless given. */
  readonly ownAddresses?: () => readonly string[];
}

/** Queries are counted in windows of this length, in ms, and own addresses read anew as often. */
const WINDOW_MS = 1_000;

const EVERYBODY = 'everybody';

/** Members and the machine itself; nobody else, and nobody beyond the limits. */
export function createAdmission({ ranges, nowMs, ownAddresses = interfaceAddresses }: AdmissionOptions): Admission {
  // by the whole address: the members of a cluster may share a /64
  const bySource = createWindowLimiter(
    { perWindowMax: QUERIES_PER_SECOND_MAX, windowMs: WINDOW_MS, keysMax: ALL_QUERIES_PER_SECOND_MAX },
    { nowMs },
  );
  const all = createWindowLimiter(
    { perWindowMax: ALL_QUERIES_PER_SECOND_MAX, windowMs: WINDOW_MS, keysMax: 1 },
    { nowMs },
  );
  let own: ReadonlySet<string> = new Set();
  let staleMs = Number.NEGATIVE_INFINITY;

  return {
    admits(text) {
      const address = plain(text);
      if (nowMs() >= staleMs) {
        staleMs = nowMs() + WINDOW_MS;
        try {
          own = new Set(ownAddresses());
        } catch {
          // they are as they were: the system tells them to nobody who has no file left to open
        }
      }
      if (!isLoopbackAddress(address) && !own.has(address) && !ranges().some((range) => isWithin(address, range)))
        return false;
      if (all.waitMs(EVERYBODY) > 0 || bySource.add(address) > 0) return false; // a refused query costs nobody else
      all.add(EVERYBODY);
      return true;
    },
  };
}

/** Without the zone of an interface: own addresses are told without. */
function plain(address: string): string {
  return plainAddress(address).replace(/%.*$/u, '');
}

function isWithin(address: string, range: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const [network, prefix] = ipaddr.parseCIDR(range);
  const parsed = ipaddr.parse(address);
  return parsed.kind() === network.kind() && parsed.match(network, prefix);
}

function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((entries) => entries?.map(({ address }) => address) ?? []);
}
