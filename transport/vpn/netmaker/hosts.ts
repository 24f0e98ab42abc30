/** Which hosts of Netmaker are which nodes, by its list and by the rows. */
import type { VpnHostRows } from '../../../actors/vpn/rows.ts';
import { HOST_PREFIX, type VpnHost } from '../../../actors/vpn/vpn.ts';
import { NodeId } from '../../protocol/ids.ts';
import type { Host } from './answers.ts';
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

  /** Reads them, and stores what is new and what is gone. */
  async read(): Promise<HostReading> {
    const stored = await this.#rows.hosts(); // before the list: a host that was stored meanwhile is not taken for gone
    const listed = await this.#client.hosts();
    const ids = new Set(listed.map((host) => host.id));
    const gone = stored.filter((host) => !ids.has(host.id));
    if (gone.length > 0) await this.#rows.forgetHosts(gone);
    const hosts = matched(
      listed,
      stored.filter((host) => ids.has(host.id)),
    );
    const storedIds = new Set(stored.map((host) => host.id));
    const found = hosts.filter((host) => !storedIds.has(host.id));
    if (found.length > 0) await this.#rows.knowHosts(found);
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
}

/**
 * A host that is stored as a node stays that node; others are known by their names, and the first of two that are
 * called alike counts.
 */
function matched(listed: readonly Host[], stored: readonly VpnHost[]): readonly VpnHost[] {
  const hosts = [...stored];
  const taken = new Set(stored.map((host) => host.node));
  const ids = new Set(stored.map((host) => host.id));
  for (const { id, name } of listed.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    const node = name.startsWith(HOST_PREFIX) ? NodeId.safeParse(name.slice(HOST_PREFIX.length)) : undefined;
    if (node?.success !== true || ids.has(id) || taken.has(node.data)) continue;
    taken.add(node.data);
    hosts.push({ id, node: node.data });
  }
  return hosts;
}
