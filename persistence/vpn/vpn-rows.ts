/**
 * What the VPN manager is compared with, moves that are not finished, and which hosts are whose: all of it
 * rows.
 */
import type { Pool } from 'pg';
import type { WantedVpn } from '../../actors/vpn/drift.ts';
import type { MoveStep, UnfinishedMove, VpnRows } from '../../actors/vpn/rows.ts';
import { networkOf, type VpnNetwork } from '../../actors/vpn/vpn.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';

/**
 * Channel on which clusters, nodes and moves tell that networks should be compared. Aliases and members tell by
 * `edge_mesh`.
 */
export const VPN_CHANGES = 'edge_vpn';

/** How long the right to reconcile is held without renewal, in ms: an admin that was killed is followed after this. */
export const VPN_LEASE_MS = 30_000;

/** A cluster as a network. */
export interface NetworkRow {
  readonly name: string;
  readonly ipv4_range: string;
  readonly ipv6_range: string;
}

interface WantedRow extends NetworkRow {
  readonly nodes: readonly { readonly node: NodeId; readonly aliases: readonly string[] | null }[] | null;
}

const LEASE = 'reconciler';

/** Rows for the admin of this id. */
export function createVpnRows(pool: Pool, adminId: string): VpnRows {
  const until = sql`clock_timestamp() + ${VPN_LEASE_MS}::int * interval '1 ms'`;
  const networksWhere = async (condition: Sql): Promise<WantedVpn['networks']> => {
    const rows = await rowsOf<WantedRow>(
      pool,
      'reading what networks should be',
      sql`
      select c.name, c.ipv4_range::text as ipv4_range, c.ipv6_range::text as ipv6_range,
        (select json_agg(json_build_object('node', n.id, 'aliases', (select json_agg(a.name order by a.name) from alias a where a.node_id = n.id)) order by n.id) from node n where n.cluster_id = c.id) as nodes
      from cluster c ${condition} order by c.name`,
    );
    return rows.map(({ nodes, ...row }) => ({
      ...networkOfRow(row),
      nodes: (nodes ?? []).map(({ node, aliases }) => ({ node, aliases: aliases ?? [] })),
    }));
  };
  return {
    async wanted() {
      // Whoever is gone in the second is not in the first either, or is removed from there the next time.
      const networks = await networksWhere(sql``);
      const gone = await rowsOf<{ node_id: NodeId }>(
        pool,
        'reading which nodes are gone',
        sql`select h.node_id from vpn_host h where not exists (select from node n where n.id = h.node_id)`,
      );
      return { networks, gone: gone.map((row) => row.node_id) };
    },
    wantedOf: (networks) => networksWhere(sql`where 'cluster-' || c.name = any(${networks}::text[])`),
    async moves(limit) {
      const rows = await rowsOf<{
        node_id: NodeId;
        from_name: string;
        to_name: string | null;
        step: MoveStep;
        version: string;
      }>(
        pool,
        'reading moves',
        sql`
        select m.node_id, m.from_name, c.name as to_name, m.step, m.xmin::text as version
        from mesh_move m left join cluster c on c.id = m.to_cluster_id order by m.inserted_at, m.node_id limit ${limit}::int`,
      );
      return rows.map((row) => ({
        node: row.node_id,
        from: networkOf(row.from_name),
        to: row.to_name === null ? null : networkOf(row.to_name),
        step: row.step,
        version: row.version,
      }));
    },
    async advance(move, next) {
      const [row] = await rowsOf<{ version: string }>(
        pool,
        'going on with a move',
        sql`update mesh_move m set step = ${next} where ${isStill(move)} returning m.xmin::text as version`,
      );
      return row === undefined ? null : { ...move, step: next, version: row.version };
    },
    async finish(move) {
      await rowsOf(pool, 'finishing a move', sql`delete from mesh_move m where ${isStill(move)}`);
    },
    async uninvited(limit, after) {
      const rows = await rowsOf<{ node_id: NodeId; name: string }>(
        pool,
        'reading which nodes are in no network yet',
        sql`
        select n.id as node_id, c.name from node n join cluster c on c.id = n.cluster_id
          join cluster_ownership o on o.cluster_id = c.id and o.admin_id = ${adminId}::uuid and o.lease_until > clock_timestamp()
        where not exists (select from vpn_host h where h.node_id = n.id) and (${after}::uuid is null or n.id > ${after}::uuid) order by n.id limit ${limit}::int`,
      );
      return rows.map((row) => ({ node: row.node_id, network: networkOf(row.name) }));
    },
    async hosts() {
      const rows = await rowsOf<{ node_id: NodeId; host_id: string }>(
        pool,
        'reading hosts',
        sql`select node_id, host_id from vpn_host`,
      );
      return rows.map((row) => ({ node: row.node_id, id: row.host_id }));
    },
    async knowHosts(hosts) {
      await rowsOf(
        pool,
        'storing hosts',
        sql`
        insert into vpn_host (node_id, host_id, inserted_at) select node_id, host_id, clock_timestamp() from unnest(${hosts.map((host) => host.node)}::uuid[], ${hosts.map((host) => host.id)}::text[]) as h (node_id, host_id)
        where exists (select from node n where n.id = h.node_id) on conflict do nothing`,
      );
    },
    async forgetHosts(hosts) {
      await rowsOf(
        pool,
        'forgetting hosts',
        sql`delete from vpn_host where host_id = any(${hosts.map((host) => host.id)}::text[])`,
      );
    },
    async wake() {
      await rowsOf(pool, 'asking for a look at the networks', sql`select pg_notify(${VPN_CHANGES}, '')`);
    },
    lease: {
      async claim() {
        const [row] = await rowsOf<{ epoch: string }>(
          pool,
          'claiming the networks',
          sql`
          insert into vpn_lease as l (name, admin_id, epoch, lease_until) values (${LEASE}, ${adminId}::uuid, 1, ${until})
          on conflict (name) do update set admin_id = excluded.admin_id, epoch = l.epoch + 1, lease_until = excluded.lease_until
            where l.admin_id is null or l.admin_id = excluded.admin_id or l.lease_until < clock_timestamp()
          returning epoch::text as epoch`,
        );
        return row === undefined ? null : Number(row.epoch);
      },
      async renew(epoch) {
        const rows = await rowsOf(
          pool,
          'renewing the claim to the networks',
          sql`update vpn_lease set lease_until = ${until} where name = ${LEASE} and admin_id = ${adminId}::uuid and epoch = ${epoch}::bigint returning 1`,
        );
        return rows.length === 1;
      },
      async release(epoch) {
        await rowsOf(
          pool,
          'releasing the networks',
          sql`update vpn_lease set admin_id = null, lease_until = null where name = ${LEASE} and admin_id = ${adminId}::uuid and epoch = ${epoch}::bigint`,
        );
      },
    },
  };
}

/** The row as it was read: one that was written since has another transaction's number. */
function isStill({ node, step, version }: UnfinishedMove): Sql {
  return sql`m.node_id = ${node}::uuid and m.step = ${step} and m.xmin::text = ${version}`;
}

/** A network out of its cluster. */
export function networkOfRow(row: NetworkRow): VpnNetwork {
  return { name: networkOf(row.name), ipv4Range: row.ipv4_range, ipv6Range: row.ipv6_range };
}
