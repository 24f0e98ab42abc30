/** Which hosts of Netmaker are which nodes, by its list and by the rows. */
import type { VpnHostRows } from '../../../actors/vpn/rows.ts';
import { HOST_PREFIX, type VpnHost } from '../../../actors/vpn/vpn.ts';
import { NodeId } from '../../protocol/ids.ts';
import type { Host, Node } from './answers.ts';
import type { NetmakerClient } from './client.ts';

/** All of them at one time. */
export interface HostReading {
  readonly hosts: readonly VpnHost[];
  readonly nodeOf: ReadonlyMap<string, NodeId>;
  /** Hosts that Netmaker itself puts into every network. */
  readonly defaults: ReadonlySet<string>;
}

/** Hosts as of the last reading. */
export class NetmakerHosts {
  readonly #client: NetmakerClient;
  readonly #rows: VpnHostRows;
  #ids: ReadonlyMap<NodeId, string> = new Map();

  constructor(client: NetmakerClient, rows: VpnHostRows) {
    this.#client = client;
    this.#rows = rows;
  }

  /**
   * Reads them, and stores what is new and what is gone. `members`: hosts in networks, where they were read before;
   * else they are asked for when a host is new.
   */
  async read(members?: readonly Node[]): Promise<HostReading> {
    const stored = await this.#rows.hosts(); // before the list: a host that was stored meanwhile is not taken for gone
    const listed = await this.#client.hosts();
    const ids = new Set(listed.map((host) => host.id));
    const gone = stored.filter((host) => !ids.has(host.id));
    if (gone.length > 0) await this.#rows.forgetHosts(gone);
    const known = stored.filter((host) => ids.has(host.id));
    const found = await this.#newcomers(calledAsNodes(listed, known), members);
    if (found.length > 0) await this.#rows.knowHosts(found);
    const hosts = [...known, ...found];
    this.#ids = new Map(hosts.map((host) => [host.node, host.id]));
    return {
      hosts,
      nodeOf: new Map(hosts.map((host) => [host.id, host.node])),
      defaults: new Set(listed.filter((host) => host.isdefault).map((host) => host.id)),
    };
  }

  /** Reads them for a node that was none at the last reading. */
  async idOf(node: NodeId): Promise<string | undefined> {
    if (!this.#ids.has(node)) await this.read();
    return this.#ids.get(node);
  }

  /**
   * Of hosts that are called as nodes, those that are them from now on. Any machine of any cluster may call its host as
   * it likes, so only one in the network of that node's own cluster counts: to be there took the token that this
   * cluster alone is told. Of two such nobody can say which one it is: neither counts, and the node is told to enter
   * again.
   */
  async #newcomers(
    called: ReadonlyMap<string, NodeId>,
    members: readonly Node[] | undefined,
  ): Promise<readonly VpnHost[]> {
    if (called.size === 0) return [];
    const networks = await this.#rows.networksOf([...new Set(called.values())]);
    if (networks.size === 0) return [];
    const found = new Map<NodeId, Set<string>>();
    for (const { hostid, network } of members ?? (await this.#client.nodes(null))) {
      const node = called.get(hostid);
      if (node === undefined || networks.get(node) !== network) continue;
      found.set(node, (found.get(node) ?? new Set()).add(hostid));
    }
    return [...found].flatMap(([node, hosts]) => (hosts.size === 1 ? [...hosts].map((id) => ({ id, node })) : []));
  }
}

/** Hosts that are called as nodes, by id, but for those that are known, and for names of nodes that have a host. */
function calledAsNodes(listed: readonly Host[], known: readonly VpnHost[]): ReadonlyMap<string, NodeId> {
  const ids = new Set(known.map((host) => host.id));
  const taken = new Set(known.map((host) => host.node));
  const called = new Map<string, NodeId>();
  for (const { id, name } of listed) {
    const node = name.startsWith(HOST_PREFIX) ? NodeId.safeParse(name.slice(HOST_PREFIX.length)) : undefined;
    if (node?.success === true && !ids.has(id) && !taken.has(node.data)) called.set(id, node.data);
  }
  return called;
}
