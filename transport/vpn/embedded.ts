/**
 * The service itself as the VPN manager: what Netmaker would hold is rows here, and they are what members are
 * told of. So networks and names are as they should be by themselves, hosts are nodes that have said their key, and
 * what is left to repair is a member that stands in the wrong network.
 */
import type { EmbeddedVpnRows } from '../../actors/vpn/rows.ts';
import { VpnRefused, type VpnManager, type VpnNetwork, type VpnSurvey } from '../../actors/vpn/vpn.ts';

/** A manager over rows. Its calls reject with DatabaseUnavailable while the database is away. */
export function createEmbeddedVpn(rows: EmbeddedVpnRows): VpnManager {
  async function surveyOf(network: string): Promise<VpnSurvey> {
    const survey = await rows.surveyOf(network);
    if (survey === null) throw new VpnRefused('There is no cluster with this network.');
    return survey;
  }

  return {
    kind: 'embedded',
    status: (signal) =>
      Promise.race([
        rows.ping().then(
          () => null,
          () => 'The database does not answer.',
        ),
        aborted(signal),
      ]),
    survey: () => rows.survey(),
    networks: async () => (await rows.survey()).networks,
    async ensureNetwork({ name, ipv4Range, ipv6Range }: VpnNetwork) {
      const [network] = (await surveyOf(name)).networks;
      if (network?.ipv4Range !== ipv4Range || network.ipv6Range !== ipv6Range)
        throw new VpnRefused('The network has the ranges of its cluster, which cannot be changed.');
    },
    async removeNetwork(name) {
      if ((await rows.surveyOf(name)) !== null) throw new VpnRefused('The network goes when its cluster is deleted.');
    },
    hosts: async () => (await rows.survey()).hosts,
    removeHost: (node) => rows.removeHost(node),
    members: async (network) => (await surveyOf(network)).hosts.map((host) => host.node),
    join: (network, node) => rows.join(network, node),
    leave: (network, node) => rows.leave(network, node),
    expel: () => Promise.resolve(), // there are no strangers: a member is a row of a node
    joinToken: () => Promise.resolve(null),
    names: async (network) => (await surveyOf(network)).names.map(({ name, node }) => ({ name, node })),
    async setNames(network, names) {
      const { hosts, names: stored } = await surveyOf(network);
      const members = new Set(hosts.map((host) => host.node));
      const wanted = names.filter(({ node }) => members.has(node));
      const nodeOf = new Map(stored.map(({ name, node }) => [name, node]));
      if (wanted.length !== nodeOf.size || wanted.some(({ name, node }) => nodeOf.get(name) !== node))
        throw new VpnRefused('The names of a network are the aliases of its nodes.');
    },
    peers: (network) => rows.peers(network),
    close: () => Promise.resolve(),
  };
}

function aborted(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve('The database did not answer in time.'), { once: true }),
  );
}
