/**
 * Netmaker as the VPN manager. Deciding whether something is there is left to its lists: its refusals say different
 * things in each version.
 */
import { createHash } from 'node:crypto';
import type { VpnHostRows } from '../../../actors/vpn/rows.ts';
import {
  clusterOf,
  VpnRefused,
  type Keep,
  type VpnHost,
  type VpnManager,
  type VpnMember,
  type VpnMemberStatus,
  type VpnName,
  type VpnNetwork,
  type VpnSurvey,
  type WantedName,
} from '../../../actors/vpn/vpn.ts';
import type { NodeId } from '../../protocol/ids.ts';
import type { EnrollmentKey, Node } from './answers.ts';
import { FREELY, NetmakerClient, unless } from './client.ts';
import { NetmakerEntries, type NetworkReading } from './entries.ts';
import { NetmakerHosts } from './hosts.ts';
import { NetmakerRequests, type NetmakerSettings } from './requests.ts';

/** Statuses of a member that is heard of. Source: Netmaker's models, since 0.26; "unknown" is said without metrics. */
const CONNECTED = new Set(['online', 'warning', 'error']);
const NOT_SAID = new Set(['', 'unknown']);

/**
 * A member that has not checked in for so long is not connected, in ms, where Netmaker does not say by itself. Its
 * clients check in each minute.
 */
const CHECK_IN_MS_MAX = 180_000;

/** What a manager by Netmaker needs. */
export interface NetmakerOptions extends NetmakerSettings {
  /** Domain of all names of nodes. */
  readonly domain: string;
  readonly rows: VpnHostRows;
  readonly nowMs: () => number;
}

/** A manager by Netmaker. Opens nothing before the first call. */
export class NetmakerVpn implements VpnManager {
  readonly kind = 'netmaker';
  readonly #requests: NetmakerRequests;
  readonly #client: NetmakerClient;
  readonly #hosts: NetmakerHosts;
  readonly #entries: NetmakerEntries;
  readonly #nowMs: () => number;

  constructor({ domain, rows, nowMs, ...settings }: NetmakerOptions) {
    this.#requests = new NetmakerRequests(settings);
    this.#client = new NetmakerClient(this.#requests);
    this.#hosts = new NetmakerHosts(this.#client, rows);
    this.#entries = new NetmakerEntries(this.#client, domain, nowMs);
    this.#nowMs = nowMs;
  }

  status(signal: AbortSignal): Promise<string | null> {
    return Promise.race([statusOf(this.#client, signal), aborted(signal)]);
  }

  async survey(): Promise<VpnSurvey> {
    const [networks, listed, entries] = await Promise.all([
      this.#client.networks(),
      this.#client.nodes(null),
      this.#client.dns(null),
    ]);
    // after its members: one that came in between is no stranger
    const { hosts, nodeOf, defaults } = await this.#hosts.read(listed);
    const nodes = listed.filter(({ network }) => clusterOf(network) !== null);
    return {
      networks: networks.filter(({ name }) => clusterOf(name) !== null),
      hosts,
      members: nodes
        .filter(({ hostid }) => !defaults.has(hostid))
        .map(({ network, hostid: host }): VpnMember => ({ network, host, node: nodeOf.get(host) ?? null })),
      names: await this.#entries.survey(entries, nodes, nodeOf),
    };
  }

  async networks(): Promise<readonly VpnNetwork[]> {
    return (await this.#client.networks()).filter((network) => clusterOf(network.name) !== null);
  }

  async ensureNetwork(network: VpnNetwork, keep: Keep = FREELY): Promise<void> {
    ours(network.name);
    const isThere = (): Promise<boolean> => this.#isThere(network.name);
    if (!(await isThere())) await unless(isThere, () => this.#client.createNetwork(network, keep));
  }

  async removeNetwork(name: string, keep: Keep = FREELY): Promise<void> {
    ours(name);
    const isGone = async (): Promise<boolean> => !(await this.#isThere(name));
    if (await isGone()) return;
    for (const node of await this.#client.nodes(name)) await this.#takeOut(node.hostid, name, keep);
    await this.#entries.removeAll(name, keep);
    await unless(isGone, () => this.#client.deleteNetwork(name, keep));
  }

  async hosts(): Promise<readonly VpnHost[]> {
    return (await this.#hosts.read()).hosts;
  }

  async removeHost(node: NodeId, keep: Keep = FREELY): Promise<void> {
    const host = await this.#hosts.idOf(node);
    if (host === undefined) return;
    await unless(
      async () => !(await this.#hosts.read()).nodeOf.has(host),
      () => this.#client.deleteHost(host, keep),
    );
    await this.#hosts.read(); // what is gone is forgotten
  }

  async members(network: string): Promise<readonly NodeId[]> {
    const { nodes, nodeOf } = await this.#read(network);
    return nodes.flatMap((node) => nodeOf.get(node.hostid) ?? []);
  }

  async join(network: string, node: NodeId, keep: Keep = FREELY): Promise<boolean> {
    ours(network);
    const host = await this.#hosts.idOf(node);
    if (host === undefined) return false;
    if (await this.#isMember(network, host)) return true;
    try {
      await unless(
        () => this.#isMember(network, host),
        () => this.#client.addToNetwork(host, network, keep),
      );
    } catch (error) {
      if (!(error instanceof VpnRefused) || (await this.#hosts.read()).nodeOf.has(host)) throw error;
      return false; // deleted meanwhile
    }
    return true;
  }

  async leave(network: string, node: NodeId, keep: Keep = FREELY): Promise<void> {
    const host = await this.#hosts.idOf(node);
    if (host !== undefined && (await this.#isMember(ours(network), host))) await this.#takeOut(host, network, keep);
  }

  async expel(network: string, host: string, keep: Keep = FREELY): Promise<void> {
    await this.#takeOut(host, ours(network), keep);
  }

  async joinToken(network: string): Promise<string> {
    ours(network);
    const token = await this.#usableToken(network);
    if (token !== null) return token;
    // The tag of the network is taken where Netmaker made a key by itself that is of no use.
    await this.#client.createEnrollmentKey(network, network).catch(async (error: unknown) => {
      if (!(error instanceof VpnRefused)) throw error;
      const tag = `edge-${createHash('sha256').update(network).digest('hex').slice(0, 16)}`;
      await this.#client.createEnrollmentKey(network, tag);
    });
    const made = await this.#usableToken(network);
    if (made === null) throw new VpnRefused('Netmaker has no enrolment key for a network, although one was made.');
    return made;
  }

  async names(network: string): Promise<readonly VpnName[]> {
    return this.#entries.list(network, await this.#readWithNames(network));
  }

  async setNames(network: string, names: readonly WantedName[], keep: Keep = FREELY): Promise<void> {
    await this.#entries.set(network, names, await this.#readWithNames(network), keep);
  }

  async peers(network: string): Promise<readonly VpnMemberStatus[]> {
    const { nodes, nodeOf } = await this.#read(network);
    return nodes.flatMap((node) => {
      const member = nodeOf.get(node.hostid);
      return member === undefined ? [] : [{ node: member, isConnected: isConnected(node, this.#nowMs()) }];
    });
  }

  close(): Promise<void> {
    return this.#requests.close();
  }

  async #read(network: string): Promise<Omit<NetworkReading, 'entries'>> {
    const [nodes, { nodeOf }] = await Promise.all([this.#client.nodes(ours(network)), this.#hosts.read()]);
    return { nodes, nodeOf };
  }

  async #readWithNames(network: string): Promise<NetworkReading> {
    const [read, entries] = await Promise.all([this.#read(ours(network)), this.#client.dns(network)]);
    return { ...read, entries };
  }

  async #isThere(name: string): Promise<boolean> {
    return (await this.#client.networks()).some((network) => network.name === name);
  }

  async #isMember(network: string, host: string): Promise<boolean> {
    return (await this.#client.nodes(network)).some((node) => node.hostid === host);
  }

  async #takeOut(host: string, network: string, keep: Keep): Promise<void> {
    await unless(
      async () => !(await this.#isMember(network, host)),
      () => this.#client.removeFromNetwork(host, network, keep),
    );
  }

  async #usableToken(network: string): Promise<string | null> {
    const usable = (await this.#client.enrollmentKeys()).filter((key) => opens(key, network));
    return usable.toSorted((one, other) => Number(other.default) - Number(one.default))[0]?.token ?? null;
  }
}

/** Names of networks that are not ours stop here, whoever asks. */
function ours(network: string): string {
  if (clusterOf(network) === null)
    throw new VpnRefused('A network that is not called as one of a cluster is not touched.');
  return network;
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
