/**
 * Netmaker as the VPN manager. Deciding whether something is there is left to its lists: its refusals say
 * different things in each version.
 */
import { createHash } from 'node:crypto';
import type { VpnHostRows } from '../../../actors/vpn/rows.ts';
import {
  clusterOf,
  HOST_PREFIX,
  VpnRefused,
  type VpnHost,
  type VpnManager,
  type VpnMember,
  type VpnName,
} from '../../../actors/vpn/vpn.ts';
import { NodeId } from '../../protocol/ids.ts';
import type { EnrollmentKey, Host, Node } from './answers.ts';
import { createNetmakerClient, type NetmakerClient } from './client.ts';
import { CHECK_IN_MS_MAX } from './limits.ts';
import { netmakerNames, type NetmakerNames } from './names.ts';
import { createNetmakerRequests, type NetmakerSettings } from './requests.ts';

/** How long Netmaker's own domain is believed to be what it was, in ms. */
const SERVER_DOMAIN_MS = 600_000;

/** Statuses of a member that is heard of. Source: Netmaker's models, since 0.26; "unknown" is said without metrics. */
const CONNECTED = new Set(['online', 'warning', 'error']);
const NOT_SAID = new Set(['', 'unknown']);

/** What a manager by Netmaker needs. */
export interface NetmakerOptions extends NetmakerSettings {
  /** Domain of all names of nodes. */
  readonly domain: string;
  readonly rows: VpnHostRows;
  readonly nowMs: () => number;
}

/** A manager by Netmaker. Opens nothing before the first call. */
export function createNetmakerVpn({ domain, rows, nowMs, ...settings }: NetmakerOptions): VpnManager {
  const requests = createNetmakerRequests(settings);
  const client = createNetmakerClient(requests);
  /** As of the last reading: ids of hosts by node. */
  let hostIds: ReadonlyMap<NodeId, string> = new Map();
  let known: { readonly serverDomain: string; readonly untilMs: number } | null = null;

  async function readHosts(): Promise<HostReading> {
    const stored = await rows.hosts(); // before the list: a host that was stored meanwhile is not taken for gone
    const listed = await client.hosts();
    const ids = new Set(listed.map((host) => host.id));
    const gone = stored.filter((host) => !ids.has(host.id));
    if (gone.length > 0) await rows.forgetHosts(gone);
    const hosts = matched(
      listed,
      stored.filter((host) => ids.has(host.id)),
    );
    const storedIds = new Set(stored.map((host) => host.id));
    const found = hosts.filter((host) => !storedIds.has(host.id));
    if (found.length > 0) await rows.knowHosts(found);
    hostIds = new Map(hosts.map((host) => [host.node, host.id]));
    return {
      hosts,
      nodeOf: new Map(hosts.map((host) => [host.id, host.node])),
      defaults: new Set(listed.filter((host) => host.isdefault).map((host) => host.id)),
    };
  }

  async function hostIdOf(node: NodeId): Promise<string | undefined> {
    if (!hostIds.has(node)) await readHosts();
    return hostIds.get(node);
  }

  async function namesOf(network: string): Promise<NetmakerNames> {
    const now = nowMs();
    if (known === null || known.untilMs <= now)
      known = { serverDomain: await client.serverDomain(), untilMs: now + SERVER_DOMAIN_MS };
    return netmakerNames(ours(network), domain, known.serverDomain);
  }

  async function isMember(network: string, host: string): Promise<boolean> {
    return (await client.nodes(network)).some((node) => node.hostid === host);
  }

  async function put(host: string, network: string): Promise<void> {
    await unless(
      () => isMember(network, host),
      () => client.addToNetwork(host, network),
    );
  }

  async function takeOut(host: string, network: string): Promise<void> {
    await unless(
      async () => !(await isMember(network, host)),
      () => client.removeFromNetwork(host, network),
    );
  }

  return {
    kind: 'netmaker',
    status: (signal) => Promise.race([statusOf(client, signal), aborted(signal)]),
    async survey() {
      const [networks, nodes, entries] = await Promise.all([client.networks(), client.nodes(null), client.dns(null)]);
      // after its members: one that came in between is no stranger
      const { hosts, nodeOf, defaults } = await readHosts();
      const ownNodes = nodes.filter((node) => clusterOf(node.network) !== null);
      const names = [];
      for (const [network, listed] of Map.groupBy(
        entries.filter((entry) => clusterOf(entry.network) !== null),
        (entry) => entry.network,
      )) {
        const own = await namesOf(network);
        const members = byAddress(
          ownNodes.filter((node) => node.network === network),
          nodeOf,
        );
        for (const { name, address, address6 } of listed) {
          const label = own.named(name);
          if (label !== null) names.push({ network, name: label, node: leadsTo(members, address, address6) });
        }
      }
      return {
        networks: networks.filter((network) => clusterOf(network.name) !== null),
        hosts,
        members: ownNodes
          .filter((node) => !defaults.has(node.hostid))
          .map((node): VpnMember => ({
            network: node.network,
            host: node.hostid,
            node: nodeOf.get(node.hostid) ?? null,
          })),
        names,
      };
    },
    networks: async () => (await client.networks()).filter((network) => clusterOf(network.name) !== null),
    async ensureNetwork(network) {
      ours(network.name);
      const isThere = async (): Promise<boolean> => (await client.networks()).some((one) => one.name === network.name);
      if (!(await isThere())) await unless(isThere, () => client.createNetwork(network));
    },
    async removeNetwork(name) {
      ours(name);
      const isGone = async (): Promise<boolean> => !(await client.networks()).some((network) => network.name === name);
      if (await isGone()) return;
      for (const node of await client.nodes(name)) await takeOut(node.hostid, name);
      const own = await namesOf(name);
      for (const { name: listed } of await client.dns(name))
        await unless(
          async () => !(await client.dns(name)).some((entry) => entry.name === listed),
          () => client.deleteDns(name, own.deletable(listed)),
        );
      await unless(isGone, () => client.deleteNetwork(name));
    },
    hosts: async () => (await readHosts()).hosts,
    async removeHost(node) {
      const host = await hostIdOf(node);
      if (host === undefined) return;
      await unless(
        async () => !(await readHosts()).nodeOf.has(host),
        () => client.deleteHost(host),
      );
      await readHosts(); // what is gone is forgotten
    },
    async members(network) {
      const [{ nodeOf }, nodes] = await Promise.all([readHosts(), client.nodes(ours(network))]);
      return nodes.flatMap((node) => nodeOf.get(node.hostid) ?? []);
    },
    async join(network, node) {
      ours(network);
      const host = await hostIdOf(node);
      if (host === undefined) return false;
      if (await isMember(network, host)) return true;
      try {
        await put(host, network);
      } catch (error) {
        if (!(error instanceof VpnRefused) || (await readHosts()).nodeOf.has(host)) throw error;
        return false; // deleted meanwhile
      }
      return true;
    },
    async leave(network, node) {
      const host = await hostIdOf(node);
      if (host !== undefined && (await isMember(ours(network), host))) await takeOut(host, network);
    },
    expel: (network, host) => takeOut(host, ours(network)),
    async joinToken(network) {
      const usable = async (): Promise<string | null> =>
        (await client.enrollmentKeys())
          .filter((key) => opens(key, ours(network)))
          .toSorted((one, other) => Number(other.default) - Number(one.default))[0]?.token ?? null;
      const token = await usable();
      if (token !== null) return token;
      // The tag of the network is taken where Netmaker made a key by itself that is of no use.
      await client.createEnrollmentKey(network, network).catch(async (error: unknown) => {
        if (!(error instanceof VpnRefused)) throw error;
        await client.createEnrollmentKey(
          network,
          `edge-${createHash('sha256').update(network).digest('hex').slice(0, 16)}`,
        );
      });
      const made = await usable();
      if (made === null) throw new VpnRefused('Netmaker has no enrolment key for a network, although one was made.');
      return made;
    },
    async names(network) {
      const own = await namesOf(network);
      const [{ nodeOf }, nodes, entries] = await Promise.all([readHosts(), client.nodes(network), client.dns(network)]);
      const members = byAddress(nodes, nodeOf);
      return entries.flatMap(({ name, address, address6 }): readonly VpnName[] => {
        const label = own.named(name);
        return label === null ? [] : [{ name: label, node: leadsTo(members, address, address6) }];
      });
    },
    async setNames(network, names) {
      const own = await namesOf(network);
      const [{ nodeOf }, nodes, entries] = await Promise.all([readHosts(), client.nodes(network), client.dns(network)]);
      const addressOf = new Map(
        nodes.flatMap((node) => {
          const member = nodeOf.get(node.hostid);
          return member === undefined
            ? []
            : [[member, { address: plain(node.address), address6: plain(node.address6) }] as const];
        }),
      );
      const missing = new Map(
        names.flatMap(({ name, node }) => {
          const address = addressOf.get(node);
          return address === undefined ? [] : [[name, address] as const];
        }),
      );
      for (const { name: listed, address, address6 } of entries) {
        const name = own.named(listed);
        if (name === null) continue; // somebody else's
        const wanted = missing.get(name);
        if (wanted !== undefined && plain(address) === wanted.address && plain(address6) === wanted.address6)
          missing.delete(name);
        else
          await unless(
            async () => !(await client.dns(network)).some((entry) => entry.name === listed),
            () => client.deleteDns(network, own.deletable(listed)),
          );
      }
      for (const [name, address] of missing) {
        await unless(
          async () =>
            (await client.dns(network)).some(
              (entry) => own.named(entry.name) === name && plain(entry.address) === address.address,
            ),
          () => client.createDns(network, { name: own.stored(name), ...address }),
        );
      }
    },
    async peers(network) {
      const [{ nodeOf }, nodes] = await Promise.all([readHosts(), client.nodes(ours(network))]);
      return nodes.flatMap((node) => {
        const member = nodeOf.get(node.hostid);
        return member === undefined ? [] : [{ node: member, isConnected: isConnected(node, nowMs()) }];
      });
    },
    close: () => requests.close(),
  };
}

interface HostReading {
  readonly hosts: readonly VpnHost[];
  readonly nodeOf: ReadonlyMap<string, NodeId>;
  /** Hosts that Netmaker itself puts into every network. */
  readonly defaults: ReadonlySet<string>;
}

/** Names of networks that are not ours stop here, whoever asks. */
function ours(network: string): string {
  if (clusterOf(network) === null)
    throw new VpnRefused('A network that is not called as one of a cluster is not touched.');
  return network;
}

/** Does it; a refusal counts for nothing where the lists show that it is as it should be. */
async function unless(isDone: () => Promise<boolean>, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof VpnRefused) || !(await isDone())) throw error;
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

function plain(address: string): string {
  return address.split('/')[0]?.toLowerCase() ?? '';
}

function byAddress(nodes: readonly Node[], nodeOf: ReadonlyMap<string, NodeId>): ReadonlyMap<string, NodeId> {
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

function opens(key: EnrollmentKey, network: string): boolean {
  return key.token !== '' && key.unlimited && key.networks.length === 1 && key.networks[0] === network;
}

function isConnected(node: Node, nowMs: number): boolean {
  if (!node.connected) return false;
  return NOT_SAID.has(node.status) ? nowMs - node.lastcheckin * 1_000 <= CHECK_IN_MS_MAX : CONNECTED.has(node.status);
}

async function statusOf(client: NetmakerClient, signal: AbortSignal): Promise<string | null> {
  try {
    const { db_connected: hasDatabase, broker_connected: hasBroker } = await client.serverStatus(signal);
    if (!hasDatabase) return 'Netmaker has lost its database.';
    if (!hasBroker) return 'Netmaker has lost its broker: machines are not told of changes.';
    await client.enrollmentKeys(); // the least of what needs the key
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : 'Netmaker does not answer.';
  }
}

function aborted(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve('Netmaker did not answer in time.'), { once: true }),
  );
}
