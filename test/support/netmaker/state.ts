/** What a Netmaker server holds. Its API changes it, and so does an administrator by hand, past the API. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Quirks } from './quirks.ts';

/** A host in a network. */
export interface StoredNode {
  readonly id: string;
  readonly host: string;
  readonly network: string;
  /** Its last number in the ranges of the network. */
  readonly index: number;
  isLeaving: boolean;
  isConnected: boolean;
  lastCheckInMs: number;
}

/** A name that somebody gave to an address. */
export interface StoredName {
  readonly network: string;
  readonly name: string;
  readonly address: string;
  readonly address6: string;
}

/** An enrolment key, as the API shows it. */
export interface StoredKey {
  readonly value: string;
  readonly networks: readonly string[];
  readonly tags: readonly string[];
  readonly unlimited: boolean;
  readonly default: boolean;
}

interface StoredNetwork {
  readonly range: string;
  readonly range6: string;
  indexLast: number;
}

/** Networks with names of hosts, and names with the host that they lead to; null: to nobody. */
export interface Inspection {
  readonly networks: Readonly<
    Record<string, { readonly hosts: readonly string[]; readonly names: Readonly<Record<string, string | null>> }>
  >;
  readonly hosts: readonly string[];
}

/** Networks, hosts, nodes, names and keys. */
export class NetmakerState {
  readonly networks = new Map<string, StoredNetwork>();
  readonly hosts = new Map<string, { readonly name: string; readonly isDefault: boolean }>();
  readonly nodes = new Map<string, StoredNode>();
  /** By name and network, with a dot between. */
  readonly names = new Map<string, StoredName>();
  readonly keys = new Map<string, StoredKey>();
  readonly #hasDefaultKeys: boolean;

  constructor({ defaultKeys }: Pick<Quirks, 'defaultKeys'>) {
    this.#hasDefaultKeys = defaultKeys;
  }

  /** Nodes that are not on their way out. */
  live(): StoredNode[] {
    return [...this.nodes.values()].filter((node) => !node.isLeaving);
  }

  nodeOf(host: string, network: string): StoredNode | undefined {
    return this.live().find((node) => node.host === host && node.network === network);
  }

  addressOf(node: StoredNode, family: 4 | 6): string {
    const { range, range6 } = this.networks.get(node.network) ?? { range: '', range6: '' };
    return family === 4
      ? range.replace(/\d+\/\d+$/u, String(node.index))
      : range6.replace(/\/\d+$/u, String(node.index));
  }

  namesIn(network: string): StoredName[] {
    return [...this.names.values()].filter((entry) => entry.network === network);
  }

  /** Makes a network, which the default hosts enter at once. */
  network(name: string, range: string, range6 = 'fd00::/64'): void {
    this.networks.set(name, { range, range6, indexLast: 1 });
    if (this.#hasDefaultKeys) this.key({ networks: [name], tags: [name], unlimited: true, default: true });
    for (const [host, { isDefault }] of this.hosts) if (isDefault) this.put(host, name);
  }

  key(of: Omit<StoredKey, 'value'>): StoredKey {
    const key = { value: randomBytes(16).toString('hex'), ...of };
    this.keys.set(key.value, key);
    return key;
  }

  /** Makes a host: its id. */
  host(name: string, isDefault = false, id: string = randomUUID()): string {
    this.hosts.set(id, { name, isDefault });
    return id;
  }

  /** Has a host enter a network. */
  put(host: string, network: string): void {
    const into = this.networks.get(network);
    if (into === undefined) throw new Error('no network');
    into.indexLast += 1;
    const id = randomUUID();
    const stored = { id, host, network, index: into.indexLast, isLeaving: false, isConnected: true };
    this.nodes.set(id, { ...stored, lastCheckInMs: Date.now() });
  }

  takeOut(host: string, network: string): void {
    this.#dropNodes((node) => !node.isLeaving && node.host === host && node.network === network);
  }

  dropNetwork(name: string): void {
    this.#dropNodes((node) => node.network === name);
    this.networks.delete(name);
  }

  dropHost(id: string): void {
    this.#dropNodes((node) => node.host === id);
    this.hosts.delete(id);
  }

  dns(network: string, name: string, address: string, address6 = ''): void {
    this.names.set(`${name}.${network}`, { network, name, address, address6 });
  }

  dropDns(network: string): void {
    for (const { name } of this.namesIn(network)) this.names.delete(`${name}.${network}`);
  }

  connect(host: string, isConnected: boolean): void {
    for (const node of this.nodes.values())
      if (node.host === host) Object.assign(node, { isConnected, lastCheckInMs: isConnected ? Date.now() : 0 });
  }

  /** Late deletions are over. */
  settle(): void {
    this.#dropNodes((node) => node.isLeaving);
  }

  inspect(): Inspection {
    const nameOf = ({ host }: StoredNode): string => this.hosts.get(host)?.name ?? '';
    const inspected = (network: string): Inspection['networks'][string] => {
      const members = this.live().filter((node) => node.network === network);
      const hostAt = new Map(members.map((node) => [this.addressOf(node, 4), nameOf(node)]));
      return {
        hosts: members.map(nameOf).toSorted(),
        names: Object.fromEntries(
          this.namesIn(network)
            .map((entry) => [entry.name, hostAt.get(entry.address) ?? null] as const)
            .toSorted(([one], [other]) => (one < other ? -1 : 1)),
        ),
      };
    };
    return {
      networks: Object.fromEntries([...this.networks.keys()].toSorted().map((name) => [name, inspected(name)])),
      hosts: [...this.hosts.values()].map((host) => host.name).toSorted(),
    };
  }

  #dropNodes(isDropped: (node: StoredNode) => boolean): void {
    for (const node of this.nodes.values()) if (isDropped(node)) this.nodes.delete(node.id);
  }
}
