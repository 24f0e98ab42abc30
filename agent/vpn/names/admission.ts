/** Who may ask the resolver, and how much. */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
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

/** One window of counting, in ms. Own addresses are read anew as often. */
const WINDOW_MS = 1_000;

/** Members and the machine itself; nobody else, and nobody beyond the limits. */
export function createAdmission({ ranges, nowMs, ownAddresses = interfaceAddresses }: AdmissionOptions): Admission {
  let windowEndMs = Number.NEGATIVE_INFINITY;
  let own: ReadonlySet<string> = new Set();
  let total = 0;
  const bySource = new Map<string, number>(); // not longer than a window's queries

  return {
    admits(text) {
      const address = plain(text);
      if (nowMs() >= windowEndMs) {
        windowEndMs = nowMs() + WINDOW_MS;
        own = new Set(ownAddresses());
        total = 0;
        bySource.clear();
      }
      if (!isLoopback(address) && !own.has(address) && !ranges().some((range) => isWithin(address, range)))
        return false;
      const count = (bySource.get(address) ?? 0) + 1;
      if (total >= ALL_QUERIES_PER_SECOND_MAX || count > QUERIES_PER_SECOND_MAX) return false;
      total += 1;
      bySource.set(address, count);
      return true;
    },
  };
}

/** IPv4 addresses of a socket of both families, and zones of interfaces, are written as others write them. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/u, '').replace(/%.*$/u, '');
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
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
