/**
 * What the system itself knows of an interface: its kind, addresses and MTU. Read and set by `ip`, as Node speaks no
 * netlink. Nothing here touches a firewall.
 */
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { isRange } from '../../protocol/wireguard.ts';
import type { DeviceLimits } from './limits.ts';
import { DeviceGone, DeviceProblem } from './problem.ts';
import { ProgramFailure, run } from './programs.ts';
import type { Machine } from './programs.ts';

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
const ANSWER = z.array(
  z.object({
    ifname: z.string().optional(),
    flags: z.array(z.string()).default([]),
    mtu: z.number().default(0),
    linkinfo: z.object({ info_kind: z.string().optional() }).optional(),
    addr_info: z
      .array(
        z.object({
          local: z.string().optional(),
          address: z.string().optional(),
          prefixlen: z.number().optional(),
          secondary: z.boolean().default(false),
        }),
      )
      .default([]),
  }),
);

/** What `ip` says of an interface that is not there. */
export const ABSENT = /does not exist|Cannot find device|No such device/u;

/**
 * The interface of this name in the network namespace of this process; null: there is none. Rejects with a
 * `DeviceProblem`.
 */
export async function readLink(name: string, { machine, limits }: Reach): Promise<Link | null> {
  const output = await run(machine.ip, ['-json', '-details', 'address', 'show', 'dev', name], limits).catch(
    (error: unknown) => {
      if (error instanceof ProgramFailure && ABSENT.test(error.said)) return null;
      throw error;
    },
  );
  if (output === null) return null;
  const answer = ANSWER.safeParse(jsonOf(output)).data?.find(({ ifname }) => ifname === name);
  if (answer === undefined)
    throw new DeviceProblem(`the program ${machine.ip} does not answer as that of iproute2 does: install iproute2`);
  return {
    kind: answer.linkinfo?.info_kind ?? null,
    isUp: answer.flags.includes('UP'),
    mtu: answer.mtu,
    addresses: answer.addr_info.flatMap(({ local, address, prefixlen, secondary }) =>
      local === undefined || prefixlen === undefined
        ? []
        : [
            {
              cidr: `${local}/${prefixlen}`,
              words: address === undefined ? `${local}/${prefixlen}` : `${local} peer ${address}/${prefixlen}`,
              isSecondary: secondary,
            },
          ],
    ),
  };
}

/** Up, with this MTU, and without an address of its own making. */
export async function bringUp(name: string, mtu: number, { machine, limits }: Reach): Promise<void> {
  // no IPv6 here; what it makes then goes with the first addresses
  await run(machine.ip, ['link', 'set', 'dev', name, 'addrgenmode', 'none'], limits).catch(() => {});
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
 * Exactly these addresses, and up; routes come from their prefixes. Those of IPv6 are left out where the machine has it
 * switched off. What goes is removed before the rest comes, as the second address of a range may go with the first.
 * What comes back are those that are refused, each with why: the others stand (R4).
 */
export async function setAddresses(
  name: string,
  cidrs: readonly string[],
  reach: Reach,
): Promise<ReadonlyMap<string, string>> {
  const { addressesMax } = reach.limits;
  const refused = new Map<string, string>();
  for (const cidr of cidrs) if (!isRange(cidr)) refused.set(cidr, 'it is no address with a prefix length');
  const sound = [...new Set(cidrs)].filter((cidr) => !refused.has(cidr));
  for (const cidr of sound.slice(addressesMax))
    refused.set(cidr, `an interface has at most ${addressesMax} addresses here`);
  const wanted = new Set(sound.slice(0, addressesMax).filter((cidr) => !cidr.includes(':') || hasIpv6(name)));
  const missing = await changeAddresses(name, wanted, reach);
  for (const cidr of missing) refused.set(cidr, 'the system refused it');
  return refused;
}

/** Those of `wanted` that are not there in the end. */
async function changeAddresses(name: string, wanted: ReadonlySet<string>, reach: Reach): Promise<readonly string[]> {
  const link = await linkOf(name, reach);
  const isStrange = ({ cidr }: LinkAddress): boolean => !wanted.has(cidr);
  const isAnyStrange = link.addresses.some(isStrange);
  const isGoing = (address: LinkAddress): boolean => isStrange(address) || (address.isSecondary && isAnyStrange);
  const going = link.addresses.filter(isGoing);
  const staying = new Set(link.addresses.filter((address) => !isGoing(address)).map(({ cidr }) => cidr));
  const commands = [
    // they are listed before their secondary ones
    ...going.toReversed().map(({ words }) => `address delete ${words} dev ${name}`),
    ...(link.isUp ? [] : [`link set dev ${name} up`]),
    ...[...wanted]
      .filter((cidr) => !staying.has(cidr))
      .map((cidr) => `address add ${cidr} dev ${name}${cidr.includes(':') ? ' nodad' : ''}`),
  ];
  if (commands.length === 0) return [];
  try {
    await run(reach.machine.ip, ['-force', '-batch', '-'], reach.limits, `${commands.join('\n')}\n`);
    return [];
  } catch (error) {
    if (!(error instanceof ProgramFailure) || error.status === null) throw error;
    // it went on behind what it could not do
    const there = new Set((await linkOf(name, reach)).addresses.map(({ cidr }) => cidr));
    const missing = [...wanted].filter((cidr) => !there.has(cidr));
    if (missing.length === 0) throw error; // something else than an address was refused
    return missing;
  }
}

async function linkOf(name: string, reach: Reach): Promise<Link> {
  const link = await readLink(name, reach);
  if (link === null) throw goneLink(name);
  return link;
}

/** Whether the kernel has IPv6, and on for this interface. */
export function hasIpv6(name: string): boolean {
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

/** That there is no such interface any more. */
export function goneLink(name: string): DeviceGone {
  return new DeviceGone(`the interface ${name} is gone: it was removed`);
}

/** What `ip` answered; null: no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
