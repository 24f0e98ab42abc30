/**
 * What may be dialled, and for whom. Pure. Addresses are judged by the one guard (`transport/net/outbound-guard`, R2);
 * what is said here is what each use opens of them, what the operator said, which ports, and what would come back to
 * this agent's own proxies.
 */
import ipaddr from 'ipaddr.js';
import { addressKind, type AddressPolicy, type Ruling } from '../../../transport/net/outbound-guard/policy.ts';
import type { EgressUse } from './egress.ts';
import { hostRule, ruleFor, type HostRule } from './host-rules.ts';
import { isInRanges, PORT_MAX, portRange } from './port-ranges.ts';

/** Entries of one list of hosts or ports: each dial looks through all. */
export const RULES_MAX = 256;

/**
 * What the operator said, as in the settings; entries that cannot be read are ignored, as settings were checked before.
 */
export interface EgressRules {
  /** Ports and ranges of ports that nobody dials: PROXY_BLOCKED_PORTS. */
  readonly blockedPorts: readonly string[];
  /** PROXY_CUSTOM_BLOCKED_HOSTS. It comes before what is allowed. */
  readonly blockedHosts: readonly string[];
  /** PROXY_CUSTOM_ALLOWED_HOSTS: opens what the rules close, metadata services only by a single address. */
  readonly allowedHosts: readonly string[];
  /** Ports that this agent itself serves: the admin's forward mode reaches them even if they are blocked. */
  readonly servedPorts: readonly number[];
}

/** Where a server listens. */
export interface Listening {
  readonly address: string;
  readonly port: number;
}

/** Decides. */
export interface EgressPolicy {
  /** Why this use must not dial a port, in one sentence, or undefined. */
  portProblem(port: number, use: EgressUse): string | undefined;
  /** What the guard is told of hosts. For `self` there is no host to judge. */
  addressPolicy(use: Exclude<EgressUse, 'self'>): AddressPolicy;
}

/** Makes the policy of an agent. */
export function createEgressPolicy(rules: EgressRules): EgressPolicy {
  const blockedPorts = rules.blockedPorts.flatMap((text) => portRange(text) ?? []);
  const blocked = rules.blockedHosts.flatMap((text): HostRule[] => present(hostRule(text)));
  const allowed = rules.allowedHosts.flatMap((text): HostRule[] => present(hostRule(text)));
  const rulingOn = (host: string) => rulingOf(host, blocked, allowed);
  return {
    portProblem(port, use) {
      if (!Number.isInteger(port) || port < 1 || port > PORT_MAX) return 'The port must be from 1 to 65535.';
      if (!isInRanges(port, blockedPorts) || (use === 'self' && rules.servedPorts.includes(port))) return undefined;
      return `Port ${port} is blocked by the operator of this machine.`;
    },
    // A logged-in user has a shell and reaches loopback from there anyway; clients of proxies could only be fooled into
    // it.
    addressPolicy: (use) => ({ allowPrivate: true, allowLoopback: use === 'ssh', rulingOn }),
  };
}

/**
 * Whether a connection would come back to one of these servers: the admin's chaining mode and clients of the proxies
 * are not sent in circles. `own` are the addresses of the machine's interfaces, for servers that listen on all of them.
 */
export function isLoop(target: Listening, servers: readonly Listening[], own: readonly string[]): boolean {
  const address = normalized(target.address);
  return servers.some((server) => {
    if (server.port !== target.port) return false;
    const isOnAll = server.address === '0.0.0.0' || server.address === '::';
    return (
      normalized(server.address) === address ||
      (isOnAll && (addressKind(address) === 'loopback' || own.some((one) => normalized(one) === address)))
    );
  });
}

function rulingOf(host: string, blocked: readonly HostRule[], allowed: readonly HostRule[]): Ruling | undefined {
  if (ruleFor(host, blocked) !== undefined) return 'blocked';
  const rule = ruleFor(host, allowed);
  if (rule === undefined) return undefined;
  return rule.kind === 'addresses' && rule.isSingle ? 'opened in any case' : 'opened';
}

/** An address as it is compared: `::1` and `0:0:0:0:0:0:0:1` are one. */
function normalized(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.parse(address).toString() : address;
}

function present<T>(value: T | null): T[] {
  return value === null ? [] : [value];
}
