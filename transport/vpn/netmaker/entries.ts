/** Names of members as entries of Netmaker's DNS: read with the members that they lead to, made and deleted. */
import { clusterOf, type Keep, type VpnName, type WantedName } from '../../../actors/vpn/vpn.ts';
import type { NodeId } from '../../protocol/ids.ts';
import type { DnsEntry, Node } from './answers.ts';
import { unless, type NetmakerClient } from './client.ts';
import { netmakerNames, type NetmakerNames } from './names.ts';

/** How long Netmaker's own domain is believed to be what it was, in ms. */
const SERVER_DOMAIN_MS = 600_000;

/** Which node each host is. */
type NodeOf = ReadonlyMap<string, NodeId>;

/** One network at one time. */
export interface NetworkReading {
  readonly nodes: readonly Node[];
  readonly nodeOf: NodeOf;
  readonly entries: readonly DnsEntry[];
}

/** Entries of networks of ours. */
export class NetmakerEntries {
  readonly #client: NetmakerClient;
  readonly #domain: string;
  readonly #nowMs: () => number;
  #server: { readonly domain: string; readonly untilMs: number } | null = null;

  /** `domain`: of all names of nodes. */
  constructor(client: NetmakerClient, domain: string, nowMs: () => number) {
    this.#client = client;
    this.#domain = domain;
    this.#nowMs = nowMs;
  }

  /** What of these is ours, and where it leads. Networks that are not ours are passed over. */
  async survey(
    entries: readonly DnsEntry[],
    nodes: readonly Node[],
    nodeOf: NodeOf,
  ): Promise<readonly (VpnName & { readonly network: string })[]> {
    const ours = entries.filter(({ network }) => clusterOf(network) !== null);
    const names = [];
    for (const [network, listed] of Map.groupBy(ours, (entry) => entry.network)) {
      const members = byAddress(
        nodes.filter((node) => node.network === network),
        nodeOf,
      );
      const own = await this.#namesOf(network);
      names.push(...namesIn(own, listed, members).map((name) => ({ network, ...name })));
    }
    return names;
  }

  /** Those of one network. */
  async list(network: string, { nodes, nodeOf, entries }: NetworkReading): Promise<readonly VpnName[]> {
    return namesIn(await this.#namesOf(network), entries, byAddress(nodes, nodeOf));
  }

  /** Exactly these; those of nodes that are no members are left out. */
  async set(
    network: string,
    names: readonly WantedName[],
    { nodes, nodeOf, entries }: NetworkReading,
    keep: Keep,
  ): Promise<void> {
    const own = await this.#namesOf(network);
    const missing = wantedAddresses(names, nodes, nodeOf);
    for (const { name: listed, address, address6 } of entries) {
      const name = own.named(listed);
      if (name === null) continue; // somebody else's
      const wanted = missing.get(name);
      if (wanted !== undefined && plain(address) === wanted.address && plain(address6) === wanted.address6)
        missing.delete(name);
      else await this.#delete(network, own, listed, keep);
    }
    for (const [name, address] of missing) await this.#create(network, own, { name, ...address }, keep);
  }

  /** All of a network that goes. */
  async removeAll(network: string, keep: Keep): Promise<void> {
    const own = await this.#namesOf(network);
    for (const { name: listed } of await this.#client.dns(network)) await this.#delete(network, own, listed, keep);
  }

  async #namesOf(network: string): Promise<NetmakerNames> {
    const nowMs = this.#nowMs();
    if (this.#server === null || this.#server.untilMs <= nowMs)
      this.#server = { domain: await this.#client.serverDomain(), untilMs: nowMs + SERVER_DOMAIN_MS };
    return netmakerNames(network, this.#domain, this.#server.domain);
  }

  async #delete(network: string, own: NetmakerNames, listed: string, keep: Keep): Promise<void> {
    await unless(
      async () => !(await this.#client.dns(network)).some((entry) => entry.name === listed),
      () => this.#client.deleteDns(network, own.deletable(listed), keep),
    );
  }

  async #create(
    network: string,
    own: NetmakerNames,
    { name, address, address6 }: Addresses & { readonly name: string },
    keep: Keep,
  ): Promise<void> {
    await unless(
      async () =>
        (await this.#client.dns(network)).some(
          (entry) => own.named(entry.name) === name && plain(entry.address) === address,
        ),
      () => this.#client.createDns(network, { name: own.stored(name), address, address6 }, keep),
    );
  }
}

interface Addresses {
  readonly address: string;
  readonly address6: string;
}

function wantedAddresses(names: readonly WantedName[], nodes: readonly Node[], nodeOf: NodeOf): Map<string, Addresses> {
  const addresses = new Map<NodeId, Addresses>();
  for (const { hostid, address, address6 } of nodes) {
    const member = nodeOf.get(hostid);
    if (member !== undefined) addresses.set(member, { address: plain(address), address6: plain(address6) });
  }
  const wanted = new Map<string, Addresses>();
  for (const { name, node } of names) {
    const address = addresses.get(node);
    if (address !== undefined) wanted.set(name, address);
  }
  return wanted;
}

function namesIn(
  own: NetmakerNames,
  entries: readonly DnsEntry[],
  members: ReadonlyMap<string, NodeId>,
): readonly VpnName[] {
  return entries.flatMap(({ name, address, address6 }): readonly VpnName[] => {
    const label = own.named(name);
    return label === null ? [] : [{ name: label, node: leadsTo(members, address, address6) }];
  });
}

function plain(address: string): string {
  return address.split('/')[0]?.toLowerCase() ?? '';
}

function byAddress(nodes: readonly Node[], nodeOf: NodeOf): ReadonlyMap<string, NodeId> {
  const members = new Map<string, NodeId>();
  for (const { hostid, address, address6 } of nodes) {
    const node = nodeOf.get(hostid);
    for (const one of [plain(address), plain(address6)]) if (node !== undefined && one !== '') members.set(one, node);
  }
  return members;
}

/** The member to which both addresses of an entry lead, as far as it has both. */
function leadsTo(members: ReadonlyMap<string, NodeId>, ...addresses: readonly string[]): NodeId | null {
  const nodes = new Set(
    addresses
      .map(plain)
      .filter((address) => address !== '')
      .map((address) => members.get(address) ?? null),
  );
  return nodes.size === 1 ? ([...nodes][0] ?? null) : null;
}
