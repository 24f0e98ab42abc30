/**
 * The embedded VPN manager: its networks are clusters, its hosts are nodes with a key, and its names are
 * aliases.
 */
import type { MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { EmbeddedVpnRows } from '../../actors/vpn/rows.ts';
import { hostNameOf, networkOf, VpnRefused, type VpnMember, type VpnSurvey } from '../../actors/vpn/vpn.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { asUnavailable } from '../availability.ts';
import { moveMember } from '../committer/vpn-rows.ts';
import { GuardRefused } from '../committer/written.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { networkOfRow, type NetworkRow } from './vpn-rows.ts';

/** Rows of the embedded manager. Every call rejects with DatabaseUnavailable when the database is away. */
export function createEmbeddedVpnRows({ orm, pool }: { readonly orm: MikroORM; readonly pool: Pool }): EmbeddedVpnRows {
  const named = (network: string): Sql => sql`'cluster-' || c.name = ${network}`;
  const surveyWhere = async (condition: Sql): Promise<VpnSurvey> => {
    const networks = await rowsOf<NetworkRow>(
      pool,
      'reading networks',
      sql`select c.name, c.ipv4_range::text as ipv4_range, c.ipv6_range::text as ipv6_range from cluster c where ${condition} order by c.name`,
    );
    const members = await rowsOf<{
      name: string;
      node_id: NodeId;
      public_key: string;
      aliases: readonly string[] | null;
    }>(
      pool,
      'reading members of networks',
      sql`
      select c.name, m.node_id, m.public_key, (select json_agg(a.name order by a.name) from alias a where a.node_id = m.node_id and a.cluster_id = m.cluster_id) as aliases
      from mesh_member m join cluster c on c.id = m.cluster_id where ${condition} order by c.name, m.host_index`,
    );
    return {
      networks: networks.map(networkOfRow),
      hosts: members.map((row) => ({ id: row.public_key, node: row.node_id })),
      members: members.map((row): VpnMember => ({
        network: networkOf(row.name),
        host: row.public_key,
        node: row.node_id,
      })),
      names: members.flatMap(({ name, node_id, aliases }) =>
        [hostNameOf(node_id), ...(aliases ?? [])].map((label) => ({
          network: networkOf(name),
          name: label,
          node: node_id,
        })),
      ),
    };
  };
  return {
    async ping() {
      await rowsOf(pool, 'looking after networks', sql`select 1`);
    },
    survey: () => surveyWhere(sql`true`),
    async surveyOf(network) {
      const survey = await surveyWhere(named(network));
      return survey.networks.length === 0 ? null : survey;
    },
    async join(network, node) {
      const isMember = await follow(orm, node);
      const [member] = await rowsOf(
        pool,
        'joining a network',
        sql`select 1 from mesh_member m join cluster c on c.id = m.cluster_id where m.node_id = ${node}::uuid and ${named(network)}`,
      );
      if (isMember && member === undefined)
        throw new VpnRefused('A node is in the network of its cluster, and in no other.');
      return isMember;
    },
    async leave(_network, node) {
      // Its key stays: what is left is the network that is not that of its cluster.
      await follow(orm, node);
    },
    async removeHost(node) {
      await rowsOf(pool, 'removing a host', sql`delete from mesh_member where node_id = ${node}::uuid`);
    },
    async peers(network) {
      const rows = await rowsOf<{ node_id: NodeId; is_connected: boolean }>(
        pool,
        'reading peers',
        sql`
        select m.node_id, n.status <> 'unreachable' as is_connected from mesh_member m join cluster c on c.id = m.cluster_id join node n on n.id = m.node_id where ${named(network)} order by m.host_index`,
      );
      return rows.map((row) => ({ node: row.node_id, isConnected: row.is_connected }));
    },
  };
}

/**
 * A member stands in the network of its node's cluster from now on, at whatever address is free there. False: it is
 * none.
 */
async function follow(orm: MikroORM, node: NodeId): Promise<boolean> {
  try {
    return await orm.em.fork().transactional(async (em) => {
      const [row] = await em.execute<{ of_node: ClusterId; of_member: ClusterId; now: Date }[]>(
        'select n.cluster_id as of_node, m.cluster_id as of_member, now() as now from mesh_member m join node n on n.id = m.node_id where m.node_id = ? for update',
        [node],
      );
      if (row !== undefined && row.of_member !== row.of_node) await moveMember(em, node, row.of_node, row.now);
      return row !== undefined;
    });
  } catch (error) {
    if (error instanceof GuardRefused) throw new VpnRefused(error.message, { cause: error });
    throw asUnavailable(error, 'joining a network');
  }
}
