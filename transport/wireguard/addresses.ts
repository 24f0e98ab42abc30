/** What the system itself knows of an interface: its kind, addresses and MTU. Read and set by `ip`, as Node speaks no netlink. Nothing here touches a firewall. */
import { existsSync, readFileSync } from 'node:fs';
import { isIPv4, SocketAddress } from 'node:net';
import { z } from 'zod';
import type { DeviceLimits } from './limits.ts';
import { DeviceGone, DeviceProblem } from './problem.ts';
import { ProgramFailure, run } from './programs.ts';
import type { Machine } from './programs.ts';
import { isRange } from './requests.ts';

/** An interface, as the system sees it. */
export interface Link {
  /** `wireguard`, `tun`, and many more; null: a physical one. */
  readonly kind: string | null;
  readonly isUp: boolean;
  readonly mtu: number;
  readonly addresses: readonly LinkAddress[];
}

/** One address of it. */
export interface LinkAddress {
  /** With its prefix length. */
  readonly cidr: string;
  /** What `ip address delete` wants to hear. */
  readonly words: string;
  /** Goes with another of its range, unless the machine is set otherwise. */
  readonly isSecondary: boolean;
}

/** What every command here needs. */
export interface Reach {
  readonly machine: Machine;
  readonly limits: DeviceLimits;
}

/** The parts of iproute2's answer that are used. */
const ANSWER = z.array(z.object({
  ifname: z.string().optional(),
  flags: z.array(z.string()).default([]),
  mtu: z.number().default(0),
  linkinfo: z.object({ info_kind: z.string().optional() }).optional(),
  addr_info: z.array(z.object({ local: z.string().optional(), address: z.string().optional(), prefixlen: z.number().optional(), secondary: z.boolean().default(false) })).default([]),
}));

/** What `ip` says of an interface that is not there. */
const ABSENT = /does not exist|Cannot find device|No such device/u;

/** The interface of this name in the network namespace of this process; null: there is none. Rejects with a `DeviceProblem`. */
export async function readLink(name: string, { machine, limits }: Reach): Promise<Link | null> {
  const output = await run(machine.ip, ['-json', '-details', 'address', 'show', 'dev', name], limits).catch((error: unknown) => {
    if (error instanceof ProgramFailure && ABSENT.test(error.said)) return null;
    throw error;
  });
  if (output === null) return null;
  const answer = ANSWER.safeParse(jsonOf(output)).data?.find(({ ifname }) => ifname === name);
  if (answer === undefined) throw new DeviceProblem(`the program ${machine.ip} does not answer as that of iproute2 does: install iproute2`);
  return {
    kind: answer.linkinfo?.info_kind ?? null, isUp: answer.flags.includes('UP'), mtu: answer.mtu,
    addresses: answer.addr_info.flatMap(({ local, address, prefixlen, secondary }) => (local === undefined || prefixlen === undefined ? [] : [{
      cidr: `${local}/${prefixlen}`, words: address === undefined ? `${local}/${prefixlen}` : `${local} peer ${address}/${prefixlen}`, isSecondary: secondary,
    }])),
  };
}

/** Up, with this MTU, and without an address of its own making. */
export async function bringUp(name: string, mtu: number, { machine, limits }: Reach): Promise<void> {
  await run(machine.ip, ['link', 'set', 'dev', name, 'addrgenmode', 'none'], limits).catch(() => {}); // no IPv6 here; what it makes then goes with the first addresses
  await onLink(name, run(machine.ip, ['link', 'set', 'dev', name, 'mtu', String(mtu), 'up'], limits));
}

/** Sets the MTU. Below 1,280 bytes the kernel takes away IPv6 (RFC 8200, 5). */
export async function setMtu(name: string, mtu: number, { machine, limits }: Reach): Promise<void> {
  await onLink(name, run(machine.ip, ['link', 'set', 'dev', name, 'mtu', String(mtu)], limits));
}

/** Removes the interface, with its addresses and routes. Whether it was there. */
export async function deleteLink(name: string, { machine, limits }: Reach): Promise<boolean> {
  try {
    await run(machine.ip, ['link', 'delete', 'dev', name], limits);
    return true;
  } catch (error) {
    if (error instanceof ProgramFailure && ABSENT.test(error.said)) return false;
    throw error;
  }
}

/**
 * Exactly these addresses, and up; routes come from their prefixes. Those of IPv6 are left out where the machine has it switched off.
 * What goes is removed before the rest comes, as the second address of a range may go with the first.
 */
export async function setAddresses(name: string, cidrs: readonly string[], reach: Reach): Promise<void> {
  if (cidrs.length > reach.limits.addressesMax) throw new DeviceProblem(`an interface has at most ${reach.limits.addressesMax} addresses here`);
  const wanted = new Set(cidrs.map((cidr) => canonicalCidr(cidr)).filter((cidr) => !cidr.includes(':') || hasIpv6(name)));
  const link = await readLink(name, reach);
  if (link === null) throw goneLink(name);
  const isStrange = ({ cidr }: LinkAddress): boolean => !wanted.has(cidr);
  const going = link.addresses.filter((address, _, all) => isStrange(address) || address.isSecondary && all.some(isStrange));
  const staying = new Set(link.addresses.filter((address) => !going.includes(address)).map(({ cidr }) => cidr));
  const commands = [
    ...going.toReversed().map(({ words }) => `address delete ${words} dev ${name}`), // they are listed before their secondary ones
    ...[...wanted].filter((cidr) => !staying.has(cidr)).map((cidr) => `address add ${cidr} dev ${name}${cidr.includes(':') ? ' nodad' : ''}`),
    ...link.isUp ? [] : [`link set dev ${name} up`],
  ];
  if (commands.length > 0) await onLink(name, run(reach.machine.ip, ['-batch', '-'], reach.limits, `${commands.join('\n')}\n`));
}

/** An address with its prefix length in the form in which the system writes it. Throws for anything else. */
export function canonicalCidr(cidr: string): string {
  if (!isRange(cidr)) throw new DeviceProblem('an address of the interface is none: it needs the form 192.0.2.1/24 or 2001:db8::1/64');
  const [address = '', length = ''] = cidr.split('/');
  return `${new SocketAddress({ address, family: isIPv4(address) ? 'ipv4' : 'ipv6' }).address}/${Number(length)}`;
}

/** Whether the kernel has IPv6, and on for this interface. */
function hasIpv6(name: string): boolean {
  const path = `/proc/sys/net/ipv6/conf/${name}/disable_ipv6`;
  return existsSync(path) && readFileSync(path, 'latin1').trim() === '0';
}

async function onLink(name: string, running: Promise<string>): Promise<void> {
  try {
    await running;
  } catch (error) {
    throw error instanceof ProgramFailure && ABSENT.test(error.said) ? goneLink(name) : error;
  }
}

function goneLink(name: string): DeviceGone {
  return new DeviceGone(`the interface ${name} is gone: it was removed`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
