/**
 * An internet of network namespaces: public hosts, NATs with machines on their LANs, and cables that can be cut. Needs
 * root and the peers `root`,
 * `ip`, `nft` and `conntrack`. Nothing of it is connected to the network of the machine that it runs on.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '../scope.ts';
import { Ethernet, type Port } from './ethernet.ts';
import { startMachine, type Machine } from './machine.ts';
import { createNamespace, namespacesOf, removeLeftovers } from './namespace.ts';
import { reapAfterDeath } from './reaper.ts';
import { startNat, type Nat, type NatKind } from './nat.ts';

export type { Link } from './ethernet.ts';
export type { Machine } from './machine.ts';
export type { Nat, NatKind } from './nat.ts';

/**
 * Public addresses. Those of documentation would be nobody's, but are reserved to whatever decides where nobody is sent
 * (R2): no relay would be reached there. These are of a network that is announced to nobody, and no packet to them
 * leaves this machine.
 */
const PUBLIC_NETWORK = '11.22.33';

/** Hosts of a network of 24 bits. */
const HOSTS_MAX = 254;

/** Someone at the end of a cable. */
type Plugged = Pick<Machine | Nat, 'port'>;

/** Someone who cannot be reached by someone else. */
export interface Partition {
  heal(): Promise<void>;
}

/** A running internet. */
export interface Internet {
  /** A machine with a public address and no firewall. Later machines know it as `<name>.example`. */
  host(name: string): Promise<Machine>;
  /** A router with a LAN of its own: `lan`.0/24, or one that no other has. */
  nat(kind: NatKind, options?: { readonly lan?: string }): Promise<Nat>;
  /**
   * Packets between the two are lost. Both stand at the internet (a machine behind a NAT is kept apart by its NAT), or
   * both on one LAN.
   * `isOneWay`: only those from the first to the second.
   */
  partition(from: Plugged, to: Plugged, options?: { readonly isOneWay?: boolean }): Promise<Partition>;
}

/**
 * Starts an internet that ends with the scope, and with it all that runs there. What this process leaves if it is
 * killed is removed without it; what others left before is removed first.
 */
export async function startInternet(scope: Scope): Promise<Internet> {
  await removeLeftovers();
  const prefix = join(tmpdir(), `edge-internet-${process.pid}-`); // by which it is found when this process is killed
  reapAfterDeath({ namespaces: namespacesOf(process.pid), paths: [`${prefix}*`] });
  const directory = await mkdtemp(prefix);
  scope.teardown(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const ethernet = await Ethernet.create(await createNamespace(scope, 'internet'), 'internet');
  const names: string[] = [];
  let addresses = 0;
  let nats = 0;
  const freeAddress = (): string => {
    addresses += 1;
    if (addresses > HOSTS_MAX) throw new Error('this internet has no address left');
    return `${PUBLIC_NETWORK}.${addresses}/24`;
  };
  const hosts = (): string => names.map((line) => `${line}\n`).join('');
  return {
    async host(name) {
      const machine = await startMachine(
        { scope, directory, gateway: null, freeAddress, hosts, plug: (namespace) => ethernet.plug(namespace, 'eth0') },
        name,
      );
      names.push(`${machine.address} ${name}.example`);
      return machine;
    },
    nat(kind, { lan } = {}) {
      nats += 1;
      return startNat(
        { scope, directory, freeAddress, hosts, plug: (namespace, end) => ethernet.plug(namespace, end) },
        kind,
        `nat${nats}`,
        lan ?? `192.168.${nats}`,
      );
    },
    async partition(from, to, { isOneWay = false } = {}) {
      await keepApart(from.port, to.port, isOneWay, true);
      return { heal: () => keepApart(from.port, to.port, isOneWay, false) };
    },
  };
}

async function keepApart(from: Port, to: Port, isOneWay: boolean, isApart: boolean): Promise<void> {
  if (from.ethernet !== to.ethernet)
    throw new Error('these two do not stand at the same switch: a machine behind a NAT is kept apart by its NAT');
  await from.ethernet.keepApart(from, to, isApart);
  if (!isOneWay) await to.ethernet.keepApart(to, from, isApart);
}
