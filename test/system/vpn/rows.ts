/** VPNs as the rows have them, told without the code that is tested. */
import type { VpnPeer } from '../../../transport/protocol/vpn.ts';
import type { Fleet } from '../../support/fleet.ts';

/** A member as the others should see it, and its cluster. */
export interface RowMember {
  readonly cluster: string;
  readonly peer: VpnPeer;
}

interface Row {
  readonly cluster: string;
  readonly network4: string;
  readonly network6: string;
  readonly node_id: string | null;
  readonly host_index: number;
  readonly public_key: string;
  readonly endpoints: readonly string[];
  readonly observed: string | null;
  readonly relay_region: number | null;
  readonly aliases: readonly string[];
}

/** All members of all VPNs, gateways too, each as its peers should see it. */
export async function rowMembers(fleet: Pick<Fleet, 'sql'>): Promise<readonly RowMember[]> {
  const rows = await fleet.sql<Row>(`
    select c.name as cluster, host(c.ipv4_range) as network4, host(c.ipv6_range) as network6, m.node_id, m.host_index, m.public_key, m.endpoints, m.observed, m.relay_region,
      coalesce((select array_agg(a.name order by a.name) from alias a where a.node_id = m.node_id), '{}') as aliases
    from (select cluster_id, node_id, host_index, public_key, endpoints, observed, relay_region from mesh_member
      union all select cluster_id, null, 1, public_key, endpoints, null, relay_region from mesh_gateway) m join cluster c on c.id = m.cluster_id`);
  return rows.map(
    ({
      cluster,
      network4,
      network6,
      host_index: index,
      node_id: node,
      public_key,
      endpoints,
      observed,
      relay_region,
      aliases,
    }) => ({
      cluster,
      peer: {
        node: node as VpnPeer['node'],
        public_key,
        relay_region,
        aliases: [...aliases] as VpnPeer['aliases'],
        ipv4: ipv4Text(ipv4Number(network4) + index),
        ipv6: `${network6.replace(/::$/u, '')}::${index.toString(16)}`,
        endpoints: [...endpoints, ...(observed === null || endpoints.includes(observed) ? [] : [observed])],
      },
    }),
  );
}

function ipv4Number(text: string): number {
  return text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function ipv4Text(number: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join('.');
}
