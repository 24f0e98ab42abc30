/** Netmaker's REST API, as far as networks of clusters need it. Every call rejects as the requests do. */
import type { z } from 'zod';
import { VpnRefused, VpnUnavailable, type Keep, type VpnNetwork } from '../../../actors/vpn/vpn.ts';
import {
  ANSWER_ENTRIES_MAX,
  DnsEntry,
  entriesIn,
  EnrollmentKey,
  Host,
  Network,
  Node,
  ServerInfo,
  ServerStatus,
} from './answers.ts';
import { NetmakerRefused, type NetmakerRequests } from './requests.ts';

/** Of whoever needs no right to change something. */
export const FREELY: Keep = () => {};

/** One method a route. Lists that are not there are empty; deleting what is not there may be refused, or not. */
export class NetmakerClient {
  readonly #requests: NetmakerRequests;

  constructor(requests: NetmakerRequests) {
    this.#requests = requests;
  }

  async networks(): Promise<readonly VpnNetwork[]> {
    return (await this.#list(Network, at('networks'), 'listing networks')).map((network) => ({
      name: network.netid,
      ipv4Range: network.addressrange,
      ipv6Range: network.addressrange6.toLowerCase(),
    }));
  }

  async createNetwork({ name, ipv4Range, ipv6Range }: VpnNetwork, keep: Keep = FREELY): Promise<void> {
    await this.#requests.ask({
      keep,
      method: 'POST',
      path: at('networks'),
      what: 'making a network',
      body: {
        netid: name,
        addressrange: ipv4Range,
        addressrange6: ipv6Range,
        isipv4: 'yes',
        isipv6: 'yes',
        defaultacl: 'yes',
      },
    });
  }

  async deleteNetwork(name: string, keep: Keep = FREELY): Promise<void> {
    await this.#delete(`${at('networks', name)}?force=true`, 'deleting a network', keep);
  }

  hosts(): Promise<readonly Host[]> {
    return this.#list(Host, at('hosts'), 'listing hosts');
  }

  async deleteHost(id: string, keep: Keep = FREELY): Promise<void> {
    await this.#delete(`${at('hosts', id)}?force=true`, 'deleting a host', keep);
  }

  async addToNetwork(host: string, network: string, keep: Keep = FREELY): Promise<void> {
    const path = at('hosts', host, 'networks', network);
    await this.#requests.ask({ method: 'POST', path, what: 'adding a host to a network', keep });
  }

  async removeFromNetwork(host: string, network: string, keep: Keep = FREELY): Promise<void> {
    const path = `${at('hosts', host, 'networks', network)}?force=true`;
    await this.#delete(path, 'removing a host from a network', keep);
  }

  /**
   * Hosts in networks; of one, or of all (null). Those that are about to be deleted are left out, and clients without a
   * host.
   */
  async nodes(network: string | null): Promise<readonly Node[]> {
    const nodes = await this.#list(Node, network === null ? at('nodes') : at('nodes', network), 'listing nodes');
    return nodes.filter(
      (node) => !node.pendingdelete && !node.is_static && (network === null || node.network === network),
    );
  }

  /**
   * Names that were made by hand or by us; of all networks (null) together with those that Netmaker makes for its
   * nodes.
   */
  async dns(network: string | null): Promise<readonly DnsEntry[]> {
    const path = network === null ? at('dns') : at('dns', 'adm', network, 'custom');
    const entries = await this.#list(DnsEntry, path, 'listing names');
    return network === null ? entries : entries.map((entry) => ({ ...entry, network }));
  }

  async createDns(
    network: string,
    entry: { readonly name: string; readonly address: string; readonly address6: string },
    keep: Keep = FREELY,
  ): Promise<void> {
    const path = at('dns', network);
    await this.#requests.ask({ method: 'POST', path, what: 'making a name', body: { ...entry, network }, keep });
  }

  async deleteDns(network: string, name: string, keep: Keep = FREELY): Promise<void> {
    await this.#delete(at('dns', network, name), 'deleting a name', keep);
  }

  enrollmentKeys(): Promise<readonly EnrollmentKey[]> {
    return this.#list(EnrollmentKey, at('v1', 'enrollment-keys'), 'listing enrolment keys');
  }

  /** Usable without end, for this network alone. */
  async createEnrollmentKey(network: string, tag: string): Promise<void> {
    await this.#requests.ask({
      method: 'POST',
      path: at('v1', 'enrollment-keys'),
      what: 'making an enrolment key',
      body: { networks: [network], tags: [tag], unlimited: true, uses_remaining: 0, expiration: 0, type: 3 },
    });
  }

  /** Whether its database and its broker are connected. Without the key. */
  async serverStatus(signal: AbortSignal): Promise<z.output<typeof ServerStatus>> {
    const [path, what] = [at('server', 'status'), 'telling its status'];
    const answer = await this.#requests.ask({ method: 'GET', path, what, isAuthorized: false, signal });
    const read = ServerStatus.safeParse(answer);
    if (read.success) return read.data;
    throw notNetmaker(what);
  }

  /** The domain that it puts behind names by itself; empty: none, or it does not tell. */
  async serverDomain(): Promise<string> {
    const path = at('server', 'getserverinfo');
    const answer = await this.#requests
      .ask({ method: 'GET', path, what: 'telling of itself' })
      .catch((error: unknown) => {
        if (error instanceof NetmakerRefused) return {};
        throw error;
      });
    const parsed = ServerInfo.safeParse(answer);
    return parsed.success ? parsed.data : '';
  }

  async #list<Entry extends z.ZodType>(entry: Entry, path: string, what: string): Promise<readonly z.output<Entry>[]> {
    const answer = await this.#requests.ask({ method: 'GET', path, what }).catch((error: unknown) => {
      if (error instanceof NetmakerRefused && error.isMissing) return null;
      throw error;
    });
    const entries = await entriesIn(answer, entry);
    if (entries === null) throw notNetmaker(what);
    if (entries !== 'too-long') return entries;
    throw new VpnUnavailable(`Netmaker answered to ${what} with more than ${ANSWER_ENTRIES_MAX} entries.`);
  }

  async #delete(path: string, what: string, keep: Keep): Promise<void> {
    await this.#requests.ask({ method: 'DELETE', path, what, keep });
  }
}

function notNetmaker(what: string): VpnUnavailable {
  return new VpnUnavailable(`What answers under EDGE_VPN_API_URL to ${what} is not Netmaker.`);
}

function at(...segments: readonly string[]): string {
  return `/api/${segments.map(encodeURIComponent).join('/')}`;
}

/** Does it; a refusal counts for nothing where the lists show that it is as it should be. */
export async function unless(isDone: () => Promise<boolean>, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof VpnRefused) || !(await isDone())) throw error;
  }
}
