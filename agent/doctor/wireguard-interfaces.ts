/** The interfaces of WireGuard that this machine has, by what the kernel says of them. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WireguardInterface } from './vpn.ts';

/** Interfaces that are looked at. */
const INTERFACES_MAX = 256;

/** Those below `sys`, which is /sys. The kernel tells their peers only to those who ask for them by netlink; without one no peer is named. */
export async function wireguardInterfaces(sys: string): Promise<readonly WireguardInterface[]> {
  const names = await readdir(join(sys, 'class/net')).catch(() => []);
  const kinds = await Promise.all(names.slice(0, INTERFACES_MAX).map((name) => readFile(join(sys, 'class/net', name, 'uevent'), 'utf8').catch(() => '')));
  return names.slice(0, INTERFACES_MAX).filter((_name, index) => /^DEVTYPE=wireguard$/mu.test(kinds[index] ?? '')).map((name) => ({ name, handshakes: [] }));
}
