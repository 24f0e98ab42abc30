/** Netmaker's REST API, as far as networks of clusters need it. Every call rejects as the requests do. */
import type { z } from 'zod';
import { VpnUnavailable, type VpnNetwork } from '../../../actors/vpn/vpn.ts';
import {
  DnsEntries,
  EnrollmentKeys,
  Hosts,
  Networks,
  Nodes,
  ServerInfo,
  ServerStatus,
  type DnsEntry,
  type EnrollmentKey,
  type Host,
  type Node,
} from './answers.ts';
import { NetmakerRefused, type NetmakerRequest, type NetmakerRequests } from './requests.ts';

/** One method a route. Lists that are not there are empty; deleting what is not there may be refused, or not. */
export interface NetmakerClient {
  networks(): Promise<readonly VpnNetwork[]>;
  createNetwork(network: VpnNetwork): Promise<void>;
  deleteNetwork(name: string): Promise<void>;
  hosts(): Promise<readonly Host[]>;
  deleteHost(id: string): Promise<void>;
  addToNetwork(host: string, network: string): Promise<void>;
  removeFromNetwork(host: string, network: string): Promise<void>;
  /**
   * Hosts in networks; of one, or of all (null). Those that are about to be deleted are left out, and clients without a
   * host.
   */
  nodes(network: string | null): Promise<readonly Node[]>;
  /**
   * Names that were made by hand or by us; of all networks (null) together with those that Netmaker makes for its
   * nodes.
   */
  dns(network: string | null): Promise<readonly DnsEntry[]>;
  createDns(
    network: string,
    entry: { readonly name: string; readonly address: string; readonly address6: string },
  ): Promise<void>;
  deleteDns(network: string, name: string): Promise<void>;
  enrollmentKeys(): Promise<readonly EnrollmentKey[]>;
  /** Usable without end, for this network alone. */
  createEnrollmentKey(network: string, tag: string): Promise<void>;
  /** Whether its database and its broker are connected. Without the key. */
  serverStatus(signal: AbortSignal): Promise<{ readonly db_connected: boolean; readonly broker_connected: boolean }>;
  /** The domain that it puts behind names by itself; empty: none, or it does not tell. */
  serverDomain(): Promise<string>;
}

/** A client over these requests. */
export function createNetmakerClient(requests: NetmakerRequests): NetmakerClient {
  const ask = (request: NetmakerRequest): Promise<unknown> => requests.ask(request);

  async function read<Shape extends z.ZodType>(shape: Shape, path: string, what: string): Promise<z.output<Shape>> {
    const answer = await ask({ method: 'GET', path, what }).catch((error: unknown) => {
      if (error instanceof NetmakerRefused && error.isMissing) return null;
      throw error;
    });
    const parsed = shape.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw new VpnUnavailable(`What answers under EDGE_VPN_API_URL to ${what} is not Netmaker.`);
  }

  const at = (...segments: readonly string[]): string => `/api/${segments.map(encodeURIComponent).join('/')}`;
  return {
    async networks() {
      return (await read(Networks, at('networks'), 'listing networks')).map((network) => ({
        name: network.netid,
        ipv4Range: network.addressrange,
        ipv6Range: network.addressrange6.toLowerCase(),
      }));
    },
    async createNetwork({ name, ipv4Range, ipv6Range }) {
      await ask({
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
    },
    async deleteNetwork(name) {
      await ask({ method: 'DELETE', path: `${at('networks', name)}?force=true`, what: 'deleting a network' });
    },
    hosts: () => read(Hosts, at('hosts'), 'listing hosts'),
    async deleteHost(id) {
      await ask({ method: 'DELETE', path: `${at('hosts', id)}?force=true`, what: 'deleting a host' });
    },
    async addToNetwork(host, network) {
      await ask({ method: 'POST', path: at('hosts', host, 'networks', network), what: 'adding a host to a network' });
    },
    async removeFromNetwork(host, network) {
      await ask({
        method: 'DELETE',
        path: `${at('hosts', host, 'networks', network)}?force=true`,
        what: 'removing a host from a network',
      });
    },
    async nodes(network) {
      const nodes = await read(Nodes, network === null ? at('nodes') : at('nodes', network), 'listing nodes');
      return nodes.filter(
        (node) => !node.pendingdelete && !node.is_static && (network === null || node.network === network),
      );
    },
    async dns(network) {
      const entries = await read(
        DnsEntries,
        network === null ? at('dns') : at('dns', 'adm', network, 'custom'),
        'listing names',
      );
      return network === null ? entries : entries.map((entry) => ({ ...entry, network }));
    },
    async createDns(network, entry) {
      await ask({ method: 'POST', path: at('dns', network), what: 'making a name', body: { ...entry, network } });
    },
    async deleteDns(network, name) {
      await ask({ method: 'DELETE', path: at('dns', network, name), what: 'deleting a name' });
    },
    enrollmentKeys: () => read(EnrollmentKeys, at('v1', 'enrollment-keys'), 'listing enrolment keys'),
    async createEnrollmentKey(network, tag) {
      await ask({
        method: 'POST',
        path: at('v1', 'enrollment-keys'),
        what: 'making an enrolment key',
        body: { networks: [network], tags: [tag], unlimited: true, uses_remaining: 0, expiration: 0, type: 3 },
      });
    },
    async serverStatus(signal) {
      return ServerStatus.parse(
        await ask({
          method: 'GET',
          path: at('server', 'status'),
          what: 'telling its status',
          isAuthorized: false,
          signal,
        }),
      );
    },
    async serverDomain() {
      const answer = await ask({ method: 'GET', path: at('server', 'getserverinfo'), what: 'telling of itself' }).catch(
        (error: unknown) => {
          if (error instanceof NetmakerRefused) return {};
          throw error;
        },
      );
      const parsed = ServerInfo.safeParse(answer);
      return parsed.success ? parsed.data : '';
    },
  };
}
