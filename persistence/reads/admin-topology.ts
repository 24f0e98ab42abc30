/** Admins and what they own, as the rows have it by the database's clock. */
import type { Pool } from 'pg';
import type { AdminTopology } from '../../api/admin-ports.ts';
import { edgeCapacity } from '../../actors/edge-capacity.ts';
import { instant } from '../../actors/resources/instant.ts';
import {
  ADMIN_GONE_MS,
  type AdminClusterResource,
  type AdminTopologyEntry,
  type ClusterHostNames,
  type MyAdminClusterResource,
} from '../../actors/resources/admin.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { erlangNodeName } from '../admins/admin-names.ts';
import { ADMIN_SILENCE_MS_MAX } from '../ownership/leases.ts';
import { nodeHostname } from './source.ts';
import { rowsOf, sql } from './sql.ts';

interface AdminRow {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly cluster: string;
  readonly peers_max: number;
  readonly checked_in: number;
  readonly live: boolean;
  readonly gone: boolean;
}

interface OwnedRow {
  readonly admin: string;
  readonly cluster: string;
  readonly nodes: readonly NodeId[] | null;
}

const DOING = 'looking up who owns what';

/** Which group asks, and the domain of node host names. */
interface TopologySettings {
  readonly adminClusterName: string;
  readonly domain: string;
}

/** Reads for an admin of this group. Every call rejects with DatabaseUnavailable when the database is away. */
export class StoredAdminTopology implements AdminTopology {
  readonly #pool: Pool;
  readonly #adminClusterName: string;
  readonly #domain: string;

  constructor(pool: Pool, { adminClusterName, domain }: TopologySettings) {
    this.#pool = pool;
    this.#adminClusterName = adminClusterName;
    this.#domain = domain;
  }

  async mine(): Promise<Omit<MyAdminClusterResource, 'degraded'>> {
    const [all, owned, [count]] = await Promise.all([
      this.#admins(),
      this.#ownedByGroup(),
      rowsOf<{ nodes: number }>(this.#pool, DOING, sql`select coalesce(sum(node_count), 0)::int as nodes from cluster`),
    ]);
    const live = all.filter((admin) => admin.live);
    const topology = live
      .filter(({ cluster }) => cluster === this.#adminClusterName)
      .map((admin) => entryOf(admin, live.length - 1));
    return {
      name: this.#adminClusterName,
      total_admins: topology.length,
      total_edge_capacity: topology.reduce((sum, { edge_node_capacity: capacity }) => sum + capacity, 0),
      total_nodes: count?.nodes ?? 0,
      topology,
      edge_clusters: Object.fromEntries(owned.map(({ cluster, admin }) => [cluster, admin])),
    };
  }

  async adminClusters(): Promise<readonly AdminClusterResource[]> {
    const of = Map.groupBy(await this.#admins(), ({ cluster }) => cluster);
    return [...of].map(([name, members]) => groupOf(name, members));
  }

  async edgeClusters(): Promise<Readonly<Record<string, ClusterHostNames>>> {
    const owned = await rowsOf<OwnedRow>(
      this.#pool,
      DOING,
      sql`
        select a.name as admin, c.name as cluster, (select json_agg(n.id order by n.id) from node n where n.cluster_id = c.id) as nodes
        from cluster_ownership w join cluster c on c.id = w.cluster_id join admin a on a.id = w.admin_id
        where w.lease_until > clock_timestamp() order by a.name collate "C", c.name collate "C"`,
    );
    return Object.fromEntries(
      [...Map.groupBy(owned, ({ admin }) => admin)].map(([admin, clusters]) => [admin, this.#namesOf(clusters)]),
    );
  }

  async ownerless(clusters: readonly ClusterId[]): Promise<ClusterHostNames> {
    return this.#namesOf(
      await rowsOf<Omit<OwnedRow, 'admin'>>(
        this.#pool,
        DOING,
        sql`
        select c.name as cluster, (select json_agg(n.id order by n.id) from node n where n.cluster_id = c.id) as nodes
        from cluster c left join cluster_ownership w on w.cluster_id = c.id
        where c.id = any(${clusters}::uuid[]) and (w.lease_until is null or w.lease_until <= clock_timestamp()) order by c.name collate "C"`,
      ),
    );
  }

  #admins(): Promise<readonly AdminRow[]> {
    return rowsOf<AdminRow>(
      this.#pool,
      DOING,
      sql`
      select id, name, url, admin_cluster_name as cluster, max_wireguard_peers as peers_max, (extract(epoch from last_checked_in) * 1000)::float8 as checked_in,
        last_checked_in > clock_timestamp() - ${ADMIN_SILENCE_MS_MAX} * interval '1 ms' as live, last_checked_in < clock_timestamp() - ${ADMIN_GONE_MS} * interval '1 ms' as gone
      from admin order by admin_cluster_name collate "C", name collate "C"`,
    );
  }

  #ownedByGroup(): Promise<readonly Omit<OwnedRow, 'nodes'>[]> {
    return rowsOf(
      this.#pool,
      DOING,
      sql`
          select a.name as admin, c.name as cluster from cluster_ownership w join cluster c on c.id = w.cluster_id join admin a on a.id = w.admin_id
          where w.lease_until > clock_timestamp() and a.admin_cluster_name = ${this.#adminClusterName} order by c.name collate "C"`,
    );
  }

  #namesOf(clusters: readonly Pick<OwnedRow, 'cluster' | 'nodes'>[]): ClusterHostNames {
    return Object.fromEntries(
      clusters.map(({ cluster, nodes }) => [
        cluster,
        (nodes ?? []).map((node) => nodeHostname(node, cluster, this.#domain)),
      ]),
    );
  }
}

/** Admins are in no network of their own: each is in those of the clusters that it owns. */
function groupOf(name: string, members: readonly AdminRow[]): AdminClusterResource {
  return {
    name,
    admin_count: members.length,
    ipv4_range: null,
    ipv6_range: null,
    admins: members.map((admin) => ({
      name: admin.name,
      vpn_host_id: admin.id,
      vpn_hostname: null,
      status: admin.live ? 'healthy' : admin.gone ? 'gone' : 'unreachable',
      last_checked_in: instant(Math.trunc(admin.checked_in)),
    })),
  };
}

function entryOf({ id, name, url, peers_max: peersMax }: AdminRow, peers: number): AdminTopologyEntry {
  return {
    name,
    max_wireguard_peers: peersMax,
    admin_peer_count: peers,
    edge_node_capacity: edgeCapacity(peersMax, peers + 1),
    erlang_node_name: erlangNodeName({ name, url }),
    vpn_host_id: id,
    vpn_hostname: null,
  };
}
