/**
 * A router between a LAN and the internet, as those of homes and offices: machines behind it call, and nobody calls
 * them.
 */
import type { Scope } from '../scope.ts';
import { Ethernet, type Link, type Port } from './ethernet.ts';
import { startMachine, type Machine } from './machine.ts';
import { createNamespace, type Namespace } from './namespace.ts';

/**
 * What it makes of the ports of machines. `easy`: they keep theirs, whomever they talk to. `hard`: another one at
 * random for each whom they talk to.
 * `udp-blocked`: as easy, and UDP does not pass.
 */
export type NatKind = 'easy' | 'hard' | 'udp-blocked';

/** What it needs of the internet that it stands at. */
export interface Outside {
  readonly scope: Scope;
  readonly directory: string;
  readonly plug: (namespace: Namespace, end: string) => Promise<Port>;
  readonly freeAddress: () => string;
  readonly hosts: () => string;
}

/** A running router. */
export interface Nat {
  readonly kind: NatKind;
  /** Its public address. */
  readonly address: string;
  /** Its cable to the internet. */
  readonly link: Link;
  readonly port: Port;
  /** A machine on its LAN. */
  machine(name: string): Promise<Machine>;
  /** As after a forced reconnection: another public address, and no mapping that was there before. */
  rebind(): Promise<string>;
  /** What it maps now, as conntrack prints it, one a line. */
  mappings(): Promise<readonly string[]>;
}

/** Starts a router whose LAN is `lan`.0/24; it is .1 there. */
export async function startNat(outside: Outside, kind: NatKind, name: string, lan: string): Promise<Nat> {
  const namespace = await createNamespace(outside.scope, name);
  const ethernet = await Ethernet.create(namespace, 'lan');
  const port = await outside.plug(namespace, 'wan');
  let taken = outside.freeAddress();
  await namespace.shell(
    `ip addr add ${taken} dev wan\nip addr add ${lan}.1/24 dev lan\necho 1 > /proc/sys/net/ipv4/ip_forward`,
  );
  await namespace.nft(rules(kind));
  let hosts = 1;
  return {
    kind,
    port,
    link: port.ethernet.link(port),
    get address() {
      return taken.split('/')[0] ?? '';
    },
    machine: (machineName) =>
      startMachine(
        {
          scope: outside.scope,
          directory: outside.directory,
          gateway: `${lan}.1`,
          hosts: outside.hosts,
          plug: (machine) => ethernet.plug(machine, 'eth0'),
          freeAddress: () => `${lan}.${(hosts += 1)}/24`,
        },
        machineName,
      ),
    async rebind() {
      const before = taken;
      taken = outside.freeAddress();
      await namespace.shell(`ip addr del ${before} dev wan\nip addr add ${taken} dev wan\nconntrack -F 2>/dev/null`);
      return taken.split('/')[0] ?? '';
    },
    mappings: async () => (await namespace.shell('conntrack -L 2>/dev/null')).split('\n').filter((line) => line !== ''),
  };
}

/**
 * Only what machines of the LAN began comes in, and nothing but answers reaches the router itself: one that took
 * strangers' packets would remember them and give the ports away.
 */
function rules(kind: NatKind): string {
  return `
    table ip nat {
      chain postrouting {
        type nat hook postrouting priority srcnat; policy accept;
        oifname "wan" masquerade${kind === 'hard' ? ' fully-random' : ''}
      }
    }
    table ip filter {
      chain forward {
        type filter hook forward priority 0; policy drop;
        ${kind === 'udp-blocked' ? 'meta l4proto udp drop' : ''}
        ct state established,related accept
        iifname "lan" accept
      }
      chain input {
        type filter hook input priority 0; policy drop;
        ct state established,related accept
        iifname "lan" accept
      }
    }
  `;
}
