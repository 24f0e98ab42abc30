/** The names of a cluster's members, as its VPN says. Pure. */
import ipaddr from 'ipaddr.js';
import type { NodeId } from '../../../transport/protocol/ids.ts';
import type { VpnMembership, VpnPeer } from '../../../transport/protocol/vpn.ts';

/** One member. `names` are whole and in lower case, the canonical one first. */
export interface NamedHost {
  readonly names: readonly [string, ...string[]];
  readonly ipv4: string;
  readonly ipv6: string;
}

/** All names of one VPN. */
export interface VpnRecords {
  /** In the order of their first names; this member among them. */
  readonly hosts: readonly NamedHost[];
  /** By name, in lower case. */
  readonly byName: ReadonlyMap<string, NamedHost>;
  /** Canonical names by the names of addresses, such as `5.0.64.100.in-addr.arpa`. */
  readonly pointers: ReadonlyMap<string, string>;
  /** Names below which nobody else knows anything: those of the cluster, and those of its ranges. */
  readonly zones: ReadonlySet<string>;
  /** This member. */
  readonly self: NamedHost;
  readonly ranges: readonly [string, string];
}

/** Label of the gateway, unless a node has the alias. */
export const GATEWAY_LABEL = 'gateway';

/** Before the label of a cluster, in the other form of its names. Source: docs/names.md. */
const CLUSTER_PREFIX = 'cluster-';

/** A name, in bytes. Source: RFC 1035, 2.3.4, less its two lengths at the ends. */
const NAME_BYTES_MAX = 253;

/** What may stand in a hosts file: letters, digits, hyphens, dots. Whatever an admin says, nothing else gets there. */
const HOST_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/u;

/**
 * Shortest prefixes whose addresses get names: no VPN of a cluster is larger, and nobody shall answer for half of
 * the world.
 */
const IPV4_PREFIX_MIN = 8;
const IPV6_PREFIX_MIN = 32;

/**
 * Names of this member (`node`) and its peers: `node-<uuid>` and each alias, below the cluster's domain and below the
 * same with
 * `cluster-` before it; of the gateway `gateway`. What the API shows is true before all: the name of a node cannot be
 * taken by an alias, and `gateway` is the node that has this alias. While an alias moves and two have it, the node with
 * the lower id does. Null: the domain is no host name.
 */
export function vpnRecords(node: NodeId, network: VpnMembership, peers: Iterable<VpnPeer>): VpnRecords | null {
  const domain = network.domain.toLowerCase();
  if (!HOST_NAME.test(domain) || domain.length > NAME_BYTES_MAX) return null;
  const origins = [domain, CLUSTER_PREFIX + domain];
  const self: VpnPeer = { ...network, node, endpoints: [], relay_region: null };
  const members = [self, ...[...peers].filter((peer) => peer.node !== node)].toSorted((one, other) =>
    order(one, other),
  );
  const owners = labelOwners(members);

  const hosts = members.flatMap((member): NamedHost[] => {
    const labels = labelsOf(member).filter((label) => owners.get(label) === member);
    const [first, ...others] = labels
      .flatMap((label) => origins.map((origin) => `${label}.${origin}`))
      .filter((name) => name.length <= NAME_BYTES_MAX);
    return first === undefined ? [] : [{ names: [first, ...others], ipv4: member.ipv4, ipv6: member.ipv6 }];
  });
  const own = hosts.find(({ ipv4 }) => ipv4 === network.ipv4);
  if (own === undefined) return null; // a domain so long that nothing fits below it
  return {
    hosts,
    byName: new Map(hosts.flatMap((host) => host.names.map((name) => [name, host] as const))),
    pointers: new Map(
      hosts.flatMap(({ names, ipv4, ipv6 }) =>
        [ipv4, ipv6].map((address) => [reverseName(address), names[0]] as const),
      ),
    ),
    zones: new Set([
      ...origins,
      ...reverseZones(network.ipv4_range, IPV4_PREFIX_MIN),
      ...reverseZones(network.ipv6_range, IPV6_PREFIX_MIN),
    ]),
    self: own,
    ranges: [network.ipv4_range, network.ipv6_range],
  };
}

/** Gateways last: a node comes before them. */
function order(one: VpnPeer, other: VpnPeer): number {
  if (one.node === null || other.node === null) return Number(one.node === null) - Number(other.node === null);
  return one.node < other.node ? -1 : 1;
}

/** Names of nodes first, then aliases, then the gateway: whoever comes first has it. */
function labelOwners(members: readonly VpnPeer[]): ReadonlyMap<string, VpnPeer> {
  const owners = new Map<string, VpnPeer>();
  const claim = (label: string, member: VpnPeer) => {
    if (!owners.has(label)) owners.set(label, member);
  };
  for (const member of members) if (member.node !== null) claim(nodeLabel(member.node), member);
  for (const member of members) for (const alias of member.aliases) claim(alias, member);
  for (const member of members) if (member.node === null) claim(GATEWAY_LABEL, member);
  return owners;
}

function labelsOf({ node, aliases }: VpnPeer): readonly string[] {
  return [...new Set([node === null ? GATEWAY_LABEL : nodeLabel(node), ...aliases])];
}

function nodeLabel(node: string): string {
  return `node-${node.toLowerCase()}`;
}

/** The name of an address. Source: RFC 1035, 3.5; RFC 3596, 2.5. */
export function reverseName(address: string): string {
  const parsed = ipaddr.parse(address);
  return [...digitsOf(parsed).toReversed(), suffixOf(parsed)].join('.');
}

/**
 * The zones that are exactly a range: a /20 of IPv4 is sixteen. None for a range that is too large to be a cluster's.
 */
function reverseZones(range: string, prefixMin: number): readonly string[] {
  const [network, prefix] = ipaddr.parseCIDR(range);
  if (prefix < prefixMin) return [];
  const digits = digitsOf(network);
  const digitBits = network.kind() === 'ipv4' ? 8 : 4;
  const radix = network.kind() === 'ipv4' ? 10 : 16;
  const kept = digits.slice(0, Math.ceil(prefix / digitBits));
  const zones = 2 ** (kept.length * digitBits - prefix);
  const last = Number.parseInt(kept.at(-1) ?? '0', radix);
  const first = last - (last % zones);
  return Array.from({ length: zones }, (_, index) =>
    [...kept.slice(0, -1), (first + index).toString(radix)].toReversed().concat(suffixOf(network)).join('.'),
  );
}

/** Bytes of IPv4 in decimal, half-bytes of IPv6 in hexadecimal. */
function digitsOf(address: ipaddr.IPv4 | ipaddr.IPv6): readonly string[] {
  const bytes = address.toByteArray();
  if (address.kind() === 'ipv4') return bytes.map(String);
  return bytes.flatMap((byte) => [(byte >> 4).toString(16), (byte & 15).toString(16)]);
}

function suffixOf(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  return address.kind() === 'ipv4' ? 'in-addr.arpa' : 'ip6.arpa';
}
