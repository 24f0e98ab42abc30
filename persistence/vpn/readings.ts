/** VPNs as their owners hold them, out of the rows. */
import type { Pool } from 'pg';
import type { VpnGatewayRecord, VpnMemberRecord, VpnPlace, VpnReading } from '../../actors/records.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** Channel on which the rows tell that the VPN of a cluster changed; the payload is its id. */
export const VPN_MEMBER_CHANGES = 'edge_mesh';

/** The addresses of host `i` in a cluster's ranges. */
const ADDRESSES = sql`host(network(c.ipv4_range)::inet + m.host_index) as ipv4, host(network(c.ipv6_range)::inet + m.host_index) as ipv6`;

interface MemberRow {
  readonly cluster_id: ClusterId;
  readonly node_id: NodeId;
  readonly ipv4: string;
  readonly ipv6: string;
  readonly public_key: string;
  readonly listen_port: number | null;
  readonly endpoints: readonly string[];
  readonly observed: string | null;
  readonly is_stable: boolean | null;
  readonly relay_region: number | null;
  readonly aliases: readonly string[] | null;
}

interface GatewayRow {
  readonly cluster_id: ClusterId;
  readonly ipv4: string;
  readonly ipv6: string;
  readonly public_key: string;
  readonly listen_port: number;
  readonly endpoints: readonly string[];
  readonly relay_region: number | null;
}

/** The VPNs of these clusters, one reading each. Rejects with DatabaseUnavailable. */
export async function readVpns(pool: Pool, clusters: readonly ClusterId[]): Promise<readonly VpnReading[]> {
  const [members, gateways] = await Promise.all([
    rowsOf<MemberRow>(
      pool,
      'reading VPNs',
      sql`
      select m.cluster_id, m.node_id, ${ADDRESSES}, m.public_key, m.listen_port, m.endpoints, m.observed, m.is_stable, m.relay_region,
        (select json_agg(a.name order by a.name) from alias a where a.node_id = m.node_id) as aliases
      from mesh_member m join cluster c on c.id = m.cluster_id where m.cluster_id = any(${clusters}::uuid[]) order by m.cluster_id, m.host_index`,
    ),
    rowsOf<GatewayRow>(
      pool,
      'reading gateways',
      sql`
      select m.cluster_id, ${ADDRESSES}, m.public_key, m.listen_port, m.endpoints, m.relay_region
      from (select *, 1 as host_index from mesh_gateway) m join cluster c on c.id = m.cluster_id where m.cluster_id = any(${clusters}::uuid[])`,
    ),
  ]);
  const membersOf = Map.groupBy(members, (row) => row.cluster_id);
  const gatewayOf = new Map(gateways.map((row) => [row.cluster_id, row]));
  return clusters.map((cluster) => ({
    cluster,
    members: (membersOf.get(cluster) ?? []).map(memberRecord),
    gateway: gatewayRecord(gatewayOf.get(cluster)),
  }));
}

/** What these nodes are in the VPN; those that are in none are left out. Rejects with DatabaseUnavailable. */
export async function vpnPlaces(pool: Pool, nodes: readonly NodeId[]): Promise<ReadonlyMap<NodeId, VpnPlace>> {
  const rows = await rowsOf<Omit<MemberRow, 'cluster_id' | 'ipv4' | 'ipv6' | 'aliases'>>(
    pool,
    'loading members of VPNs',
    sql`
    select node_id, public_key, listen_port, endpoints, observed, is_stable, relay_region from mesh_member where node_id = any(${nodes}::uuid[])`,
  );
  return new Map(rows.map((row) => [row.node_id, placeOf(row)]));
}

/**
 * Says where the gateway of a cluster is, or that there is none (null), as long as the cluster is owned under this
 * epoch. False: it is not.
 * Rejects with DatabaseUnavailable.
 */
export async function storeGateway(
  pool: Pool,
  adminId: string,
  cluster: ClusterId,
  epoch: number,
  place: Omit<VpnGatewayRecord, 'ipv4' | 'ipv6'> | null,
): Promise<boolean> {
  const owned = sql`select 1 as owned from cluster_ownership where cluster_id = ${cluster}::uuid and admin_id = ${adminId}::uuid and epoch = ${epoch} and lease_until > clock_timestamp() for key share`;
  const rows =
    place === null
      ? await rowsOf(
          pool,
          'leaving a VPN',
          sql`with o as (${owned}), gone as (delete from mesh_gateway where cluster_id = ${cluster}::uuid and exists (select from o)) select owned from o`,
        )
      : await rowsOf(
          pool,
          'joining a VPN',
          sql`
      with o as (${owned}), set as (insert into mesh_gateway (cluster_id, admin_id, epoch, public_key, listen_port, endpoints, relay_region, updated_at)
        select ${cluster}::uuid, ${adminId}::uuid, ${epoch}::bigint, ${place.publicKey}, ${place.listenPort}::int, ${JSON.stringify(place.endpoints)}::json, ${place.relayRegion}::int, clock_timestamp() from o
        on conflict (cluster_id) do update set admin_id = excluded.admin_id, epoch = excluded.epoch, public_key = excluded.public_key, listen_port = excluded.listen_port, endpoints = excluded.endpoints,
          relay_region = excluded.relay_region, updated_at = excluded.updated_at)
      select owned from o`,
        );
  return rows.length > 0;
}

function memberRecord(row: MemberRow): VpnMemberRecord {
  return { node: row.node_id, ipv4: row.ipv4, ipv6: row.ipv6, aliases: row.aliases ?? [], ...placeOf(row) };
}

function gatewayRecord(row: GatewayRow | undefined): VpnGatewayRecord | null {
  return row === undefined
    ? null
    : {
        ipv4: row.ipv4,
        ipv6: row.ipv6,
        publicKey: row.public_key,
        listenPort: row.listen_port,
        endpoints: row.endpoints,
        relayRegion: row.relay_region,
      };
}

function placeOf(
  row: Pick<MemberRow, 'public_key' | 'listen_port' | 'endpoints' | 'observed' | 'is_stable' | 'relay_region'>,
): VpnPlace {
  return {
    publicKey: row.public_key,
    listenPort: row.listen_port,
    endpoints: row.endpoints,
    observed: row.observed,
    isStable: row.is_stable,
    relayRegion: row.relay_region,
  };
}
