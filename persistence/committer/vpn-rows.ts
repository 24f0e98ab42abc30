/** Membership in VPNs, as rows. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { VpnPlace } from '../../actors/records.ts';
import type { ColdWrite } from '../../actors/writes.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { VpnMember } from '../entities/vpn.ts';
import { GuardRefused, NOTHING_TO_TELL } from './written.ts';
import type { Written } from './written.ts';

/** How long an address rests after it was given back, in PostgreSQL's words. */
const REST = '1 day';

/** Index of the first member: 0 is the VPN's, 1 the gateway's. */
const FIRST_HOST_INDEX = 2;

type VpnWrite = Extract<ColdWrite, { kind: `vpn-${string}` }>;

/** Writes one of them. */
export async function writeVpn(em: EntityManager, write: VpnWrite): Promise<Written> {
  const at = new Date(write.atMs);
  switch (write.kind) {
    case 'vpn-member-set':
      await setMember(em, write.node, write.cluster, write.place, at);
      return NOTHING_TO_TELL;
    case 'vpn-observed':
      // Of a key that is not the node's any more: nothing to tell.
      await em.nativeUpdate(
        VpnMember,
        { node: write.node, publicKey: write.publicKey },
        { observed: write.observed, isStable: write.isStable, updatedAt: at },
      );
      return NOTHING_TO_TELL;
    default:
      throw new Error(`no such write: ${JSON.stringify(write satisfies never)}`);
  }
}

/**
 * A member is what it says; one that is new gets an address. Refused when the VPN is full, and when the key is that
 * of a gateway, which all members know.
 */
export async function setMember(
  em: EntityManager,
  node: NodeId,
  cluster: ClusterId,
  place: VpnPlace,
  at: Date,
): Promise<void> {
  const { publicKey, listenPort, observed, isStable, relayRegion } = place;
  if ((await em.execute<unknown[]>('select 1 from mesh_gateway where public_key = ? limit 1', [publicKey])).length > 0)
    throw new GuardRefused({
      code: 'conflict',
      message: 'The gateway has this WireGuard key: a key is made on one machine and never copied.',
    });
  const fields = {
    publicKey,
    listenPort,
    endpoints: [...place.endpoints],
    observed,
    isStable,
    relayRegion,
    updatedAt: at,
  };
  if ((await em.nativeUpdate(VpnMember, { node, cluster }, fields)) > 0) return;
  await em.insert(VpnMember, { ...fields, node, cluster, hostIndex: await freeIndex(em, cluster), insertedAt: at });
}

/** A member of one VPN becomes a member of another, with a new address; one of none stays one of none. */
export async function moveMember(em: EntityManager, node: NodeId, to: ClusterId, at: Date): Promise<void> {
  if ((await em.count(VpnMember, { node })) === 0) return;
  await em.nativeUpdate(VpnMember, { node }, { cluster: to, hostIndex: await freeIndex(em, to), updatedAt: at });
}

/**
 * The lowest address of a cluster that nobody has or had within a day. The cluster's row is locked, so that two never
 * get the same.
 */
async function freeIndex(em: EntityManager, cluster: ClusterId): Promise<number> {
  const [range] = await em.execute<{ range: string; hosts: string }[]>(
    'select ipv4_range::text as range, (1::bigint << (32 - masklen(ipv4_range))) - 2 as hosts from cluster where id = ? for update',
    [cluster],
  );
  if (range === undefined)
    throw new GuardRefused({ code: 'conflict', message: 'The cluster does not exist any more.' });
  await em.execute(
    `delete from mesh_released where cluster_id = ? and released_at <= clock_timestamp() - interval '${REST}'`,
    [cluster],
  );
  // Of one more candidates than are taken, one is free.
  const [free] = await em.execute<{ index: number }[]>(
    `with taken as (select host_index from mesh_member where cluster_id = ?::uuid union select host_index from mesh_released where cluster_id = ?::uuid)
     select i::int as index from generate_series(${FIRST_HOST_INDEX}::bigint, least(?::bigint, ${FIRST_HOST_INDEX} + (select count(*) from taken))) as i
     where i not in (select host_index from taken) order by i limit 1`,
    [cluster, cluster, range.hosts],
  );
  if (free === undefined)
    throw new GuardRefused({
      code: 'conflict',
      message: `The network ${range.range} of the cluster has no free address: addresses are free again a day after a node has left. Use another cluster, or one with a larger IPv4 range.`,
    });
  return free.index;
}
