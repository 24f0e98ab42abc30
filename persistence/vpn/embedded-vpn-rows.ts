/**
 * The embedded VPN manager: its networks are clusters, its hosts are nodes with a key, and its names are
 * aliases.
 */
import type { MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { EmbeddedVpnRows } from '../../actors/vpn/rows.ts';
import { hostNameOf, VpnRefused, type VpnMember, type VpnMemberStatus, type VpnSurvey } from '../../actors/vpn/vpn.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { asUnavailable } from '../connections/availability.ts';
import { moveMember } from '../committer/vpn-rows.ts';
import { GuardRefused } from '../committer/written.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { networkOf } from '../../transport/protocol/cluster-names.ts';
import { networkOfRow, type NetworkRow } from './vpn-rows.ts';

interface MemberRow {
  readonly name: string;
  readonly node_id: NodeId;
  readonly public_key: string;
  readonly aliases: readonly string[] | null;
}

/** Rows of the embedded manager. Every call rejects with DatabaseUnavailable when the database is away. */
export class StoredNetworks implements EmbeddedVpnRows {
  readonly #orm: MikroORM;
  readonly #pool: Pool;

  constructor({ orm, pool }: { readonly orm: MikroORM; readonly pool: Pool }) {
    this.#orm = orm;
    this.#pool = pool;
  }

  async ping(): Promise<void> {
    await rowsOf(this.#pool, 'looking after networks', sql`select 1`);
  }

  survey(): Promise<VpnSurvey> {
    return this.#surveyWhere(sql`true`);
  }

  async surveyOf(network: string): Promise<VpnSurvey | null> {
    const survey = await this.#surveyWhere(named(network));
    return survey.networks.length === 0 ? null : survey;
  }

  async join(network: string, node: NodeId): Promise<boolean> {
    const isMember = await follow(this.#orm, node);
    const [member] = await rowsOf(
      this.#pool,
      'joining a network',
      sql`select 1 from mesh_member m join cluster c on c.id = m.cluster_id where m.node_id = ${node}::uuid and ${named(network)}`,
    );
    if (isMember && member === undefined)
      throw new VpnRefused('A node is in the network of its cluster, and in no other.');
    return isMember;
  }

  /** Its key stays: what is left is the network that is not that of its cluster. */
  async leave(_network: string, node: NodeId): Promise<void> {
    await follow(this.#orm, node);
  }

  async removeHost(node: NodeId): Promise<void> {
    await rowsOf(this.#pool, 'removing a host', sql`delete from mesh_member where node_id = ${node}::uuid`);
  }

  async peers(network: string): Promise<readonly VpnMemberStatus[]> {
    const rows = await rowsOf<{ node_id: NodeId; is_connected: boolean }>(
      this.#pool,
      'reading peers',
      sql`
        select m.node_id, n.status <> 'unreachable' as is_connected from mesh_member m join cluster c on c.id = m.cluster_id join node n on n.id = m.node_id where ${named(network)} order by m.host_index`,
    );
    return rows.map((row) => ({ node: row.node_id, isConnected: row.is_connected }));
  }

  async #surveyWhere(condition: Sql): Promise<VpnSurvey> {
    const networks = await rowsOf<NetworkRow>(
      this.#pool,
      'reading networks',
      sql`select c.name, c.ipv4_range::text as ipv4_range, c.ipv6_range::text as ipv6_range from cluster c where ${condition} order by c.name`,
    );
    const members = await rowsOf<MemberRow>(
      this.#pool,
      'reading members of networks',
      sql`
      select c.name, m.node_id, m.public_key, (select json_agg(a.name order by a.name) from alias a where a.node_id = m.node_id and a.cluster_id = m.cluster_id) as aliases
      from mesh_member m join cluster c on c.id = m.cluster_id where ${condition} order by c.name, m.host_index`,
    );
    return surveyOfRows(networks, members);
  }
}

/** The condition on a cluster that it is this network. */
function named(network: string): Sql {
  return sql`'cluster-' || c.name = ${network}`;
}

function surveyOfRows(networks: readonly NetworkRow[], members: readonly MemberRow[]): VpnSurvey {
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
