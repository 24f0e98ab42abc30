/**
 * What the VPN manager is compared with, moves that are not finished, and which hosts are whose: all of it
 * rows.
 */
import type { Pool } from 'pg';
import type { WantedVpn } from '../../actors/vpn/drift.ts';
import type { MoveStep, Uninvited, UnfinishedMove, VpnRows } from '../../actors/vpn/rows.ts';
import type { VpnHost, VpnNetwork } from '../../actors/vpn/vpn.ts';
import { networkOf } from '../../transport/protocol/cluster-names.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { RECONCILER_TASK, taskLease, TASK_LEASE_MS, type StoredTaskLease } from '../ownership/task-leases.ts';

/**
 * Channel on which clusters, nodes and moves tell that networks should be compared. Aliases and members tell by
 * `edge_mesh`.
 */
export const VPN_CHANGES = 'edge_vpn';

/** A cluster as a network. */
export interface NetworkRow {
  readonly name: string;
  readonly ipv4_range: string;
  readonly ipv6_range: string;
}

interface WantedRow extends NetworkRow {
  readonly nodes: readonly { readonly node: NodeId; readonly aliases: readonly string[] | null }[] | null;
}

interface MoveRow {
  readonly node_id: NodeId;
  readonly from_name: string;
  readonly to_name: string | null;
  readonly step: MoveStep;
  readonly version: string;
}

/** Rows for the admin of this id. */
export class StoredVpnRows implements VpnRows {
  readonly lease: StoredTaskLease;
  readonly #pool: Pool;
  readonly #adminId: string;

  /** `writes`: for the lease, which waits behind no reader; `instanceId`: of the process that holds it. */
  constructor(pool: Pool, adminId: string, writes: Pool = pool, instanceId: string | null = null) {
    this.lease = taskLease(writes, { adminId, instanceId }, RECONCILER_TASK, TASK_LEASE_MS);
    this.#pool = pool;
    this.#adminId = adminId;
  }

  async wanted(): Promise<WantedVpn> {
    // Whoever is gone in the second is not in the first either, or is removed from there the next time.
    const networks = await this.#networksWhere(sql``);
    const gone = await rowsOf<{ node_id: NodeId }>(
      this.#pool,
      'reading which nodes are gone',
      sql`select h.node_id from vpn_host h where not exists (select from node n where n.id = h.node_id)`,
    );
    return { networks, gone: gone.map((row) => row.node_id) };
  }

  wantedOf(networks: readonly string[]): Promise<WantedVpn['networks']> {
    return this.#networksWhere(sql`where 'cluster-' || c.name = any(${networks}::text[])`);
  }

  async moves(limit: number, last: readonly NodeId[] = []): Promise<readonly UnfinishedMove[]> {
    const rows = await rowsOf<MoveRow>(
      this.#pool,
      'reading moves',
      sql`
        select m.node_id, m.from_name, c.name as to_name, m.step, m.xmin::text as version
        from mesh_move m left join cluster c on c.id = m.to_cluster_id
        order by array_position(${last}::uuid[], m.node_id) nulls first, m.inserted_at, m.node_id limit ${limit}::int`,
    );
    return rows.map((row) => ({
      node: row.node_id,
      from: networkOf(row.from_name),
      to: row.to_name === null ? null : networkOf(row.to_name),
      step: row.step,
      version: row.version,
    }));
  }

  async advance(move: UnfinishedMove, next: MoveStep): Promise<UnfinishedMove | null> {
    const [row] = await rowsOf<{ version: string }>(
      this.#pool,
      'going on with a move',
      sql`update mesh_move m set step = ${next} where ${isStill(move)} returning m.xmin::text as version`,
    );
    return row === undefined ? null : { ...move, step: next, version: row.version };
  }

  async finish(move: UnfinishedMove): Promise<void> {
    await rowsOf(this.#pool, 'finishing a move', sql`delete from mesh_move m where ${isStill(move)}`);
  }

  async uninvited(limit: number, after: NodeId | null): Promise<readonly Uninvited[]> {
    const rows = await rowsOf<{ node_id: NodeId; name: string }>(
      this.#pool,
      'reading which nodes are in no network yet',
      sql`
        select n.id as node_id, c.name from node n join cluster c on c.id = n.cluster_id
          join cluster_ownership o on o.cluster_id = c.id and o.admin_id = ${this.#adminId}::uuid and o.lease_until > clock_timestamp()
        where not exists (select from vpn_host h where h.node_id = n.id) and (${after}::uuid is null or n.id > ${after}::uuid) order by n.id limit ${limit}::int`,
    );
    return rows.map((row) => ({ node: row.node_id, network: networkOf(row.name) }));
  }

  async hosts(): Promise<readonly VpnHost[]> {
    const rows = await rowsOf<{ node_id: NodeId; host_id: string }>(
      this.#pool,
      'reading hosts',
      sql`select node_id, host_id from vpn_host`,
    );
    return rows.map((row) => ({ node: row.node_id, id: row.host_id }));
  }

  async networksOf(nodes: readonly NodeId[]): Promise<ReadonlyMap<NodeId, string>> {
    const rows = await rowsOf<{ node_id: NodeId; name: string }>(
      this.#pool,
      'reading in which networks nodes should be',
      sql`select n.id as node_id, c.name from node n join cluster c on c.id = n.cluster_id where n.id = any(${nodes}::uuid[])`,
    );
    return new Map(rows.map((row) => [row.node_id, networkOf(row.name)]));
  }

  async knowHosts(hosts: readonly VpnHost[]): Promise<void> {
    await rowsOf(
      this.#pool,
      'storing hosts',
      sql`
        insert into vpn_host (node_id, host_id, inserted_at) select node_id, host_id, clock_timestamp() from unnest(${hosts.map((host) => host.node)}::uuid[], ${hosts.map((host) => host.id)}::text[]) as h (node_id, host_id)
        where exists (select from node n where n.id = h.node_id) on conflict do nothing`,
    );
  }

  async forgetHosts(hosts: readonly VpnHost[]): Promise<void> {
    await rowsOf(
      this.#pool,
      'forgetting hosts',
      sql`delete from vpn_host where host_id = any(${hosts.map((host) => host.id)}::text[])`,
    );
  }

  async wake(): Promise<void> {
    await rowsOf(this.#pool, 'asking for a look at the networks', sql`select pg_notify(${VPN_CHANGES}, '')`);
  }

  async #networksWhere(condition: Sql): Promise<WantedVpn['networks']> {
    const rows = await rowsOf<WantedRow>(
      this.#pool,
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
  }
}

/** The row as it was read: one that was written since has another transaction's number. */
function isStill({ node, step, version }: UnfinishedMove): Sql {
  return sql`m.node_id = ${node}::uuid and m.step = ${step} and m.xmin::text = ${version}`;
}

/** A network out of its cluster. */
export function networkOfRow(row: NetworkRow): VpnNetwork {
  return { name: networkOf(row.name), ipv4Range: row.ipv4_range, ipv6Range: row.ipv6_range };
}
