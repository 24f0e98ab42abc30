/**
 * Room for nodes at an admin, decided by the rows: nodes of the clusters that it owns are never more than its edge
 * capacity. The rule in words is actors/edge-capacity.ts.
 */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Refusal } from '../../actors/refusal.ts';
import { HAND_OVER_LINK_VERSION } from '../../actors/hand-over.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { ADMIN_SILENCE_MS_MAX, GIVEN_NOTHING_SINCE } from '../ownership/leases.ts';
import { GuardRefused } from './written.ts';

/** First key of the advisory locks by which room is looked at; the second is of an admin. Any other number would do. */
export const ROOM_LOCK = 0x726f6f6d;

/** Of an admin, behind its alias: whether it is alive, by the database's clock. */
export const IS_LIVE = `last_checked_in > clock_timestamp() - ${ADMIN_SILENCE_MS_MAX} * interval '1 ms'`;

/** Of an admin `a`: for how many nodes it has room, by the database's clock. */
export const EDGE_CAPACITY = `greatest(0, a.max_wireguard_peers - (select count(*) from admin peer where peer.id <> a.id and peer.${IS_LIVE}))::int`;

/** Of an admin `a`: nodes of the clusters that it owns now. */
export const OWNED_NODES = `(select coalesce(sum(c.node_count), 0) from cluster_ownership w join cluster c on c.id = w.cluster_id where w.admin_id = a.id and w.lease_until > clock_timestamp())::int`;

/** Why an agent or a node is not let in. It passes: agents go on asking. */
export const NO_ROOM: Refusal = {
  code: 'degraded_mode',
  message: 'The admin of this cluster has no room for another node. Add an admin or raise ADMIN_MAX_WIREGUARD_PEERS.',
};

/**
 * Refuses a node that came into this cluster in the same transaction and is one too many for whoever owns it. The last
 * of its transaction: whoever comes into a cluster of the same admin waits until it ended. `from`: the cluster that the
 * node left, whose nodes do not count: a move between clusters of one admin asks for no more than there was. A cluster
 * that nobody owns takes no room of anybody.
 */
export async function refuseBeyondRoom(em: EntityManager, cluster: ClusterId, from: ClusterId | null): Promise<void> {
  const [owner] = await em.execute<{ id: string | null }[]>(
    `select w.admin_id as id, pg_advisory_xact_lock(${ROOM_LOCK}, hashtext(w.admin_id::text)) from cluster_ownership w where w.cluster_id = ? and w.lease_until > clock_timestamp()`,
    [cluster],
  );
  if (owner?.id == null) return;
  // A statement of its own: it sees what whoever held the lock before has stored.
  const [found] = await em.execute<{ nodes: number; capacity: number }[]>(
    `select ${OWNED_NODES} - coalesce((select c.node_count from cluster_ownership w join cluster c on c.id = w.cluster_id where w.cluster_id = ?::uuid and w.admin_id = a.id and w.lease_until > clock_timestamp()), 0) as nodes,
      ${EDGE_CAPACITY} as capacity from admin a where a.id = ?::uuid`,
    [from, owner.id],
  );
  if (found !== undefined && found.nodes > found.capacity) throw new GuardRefused(NO_ROOM);
}

/**
 * Who should own a cluster that this admin creates: itself, unless it has no room for a first node or is drained and
 * another one can take it. That one is told within the transaction. Null: another one will take it in its next round.
 */
export async function ownerOfCreated(em: EntityManager, adminId: string): Promise<string | null> {
  const [found] = await em.execute<{ owner: string | null }[]>(
    `with others as (
        select a.id, ${EDGE_CAPACITY} - ${OWNED_NODES} as room, coalesce(a.link_version >= ${HAND_OVER_LINK_VERSION}, false) and a.peer_url is not null as can_be_told
        from admin a left join admin_identity i on i.name = a.name where a.id <> ?::uuid and a.${IS_LIVE} and ${GIVEN_NOTHING_SINCE} is null),
      roomy as (select * from others where room > 0),
      self as (
        select ${EDGE_CAPACITY} - ${OWNED_NODES} as room, ${GIVEN_NOTHING_SINCE} is not null as is_draining
        from admin a left join admin_identity i on i.name = a.name where a.id = ?::uuid)
      select case when not exists (select 1 from roomy) or exists (select 1 from self where room > 0 and not is_draining) or not exists (select 1 from self)
        then ?::uuid else (select id from roomy where can_be_told order by room desc, id limit 1) end as owner`,
    [adminId, adminId, adminId],
  );
  return found?.owner ?? null;
}
