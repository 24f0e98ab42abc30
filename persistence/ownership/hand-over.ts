/**
 * Clusters that are handed over to another admin while both live: one transaction, in which the epoch rises and the new
 * owner is told, so that there is no instant without an owner, and none with two (O1).
 */
import type { Pool, PoolClient } from 'pg';
import { HAND_OVER_LINK_VERSION, type StaysBecause } from '../../actors/hand-over.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { asUnavailable } from '../connections/availability.ts';
import { EDGE_CAPACITY, IS_LIVE, OWNED_NODES, ROOM_LOCK } from '../committer/capacity.ts';
import { GIVEN_NOTHING_SINCE, LEASE_MS, type Owned } from './leases.ts';
import { ownChannel } from '../admins/own-channel.ts';
import { inTransaction } from '../connections/transaction.ts';

/**
 * How long the transaction waits for a lock, and each of its statements may take, in ms: a batch that writes for such a
 * cluster waits meanwhile, and the lease goes on running.
 */
export const HAND_OVER_LOCK_MS_MAX = 500;
export const HAND_OVER_STATEMENT_MS_MAX = 1_000;

/** What became of it. `url`: of the new owner, for agents. */
export interface HandedOver {
  /** Under the epochs of the new owner. */
  readonly given: readonly Owned[];
  readonly url: string;
  /** Null: all were given. */
  readonly staysBecause: StaysBecause | null;
}

/** Clusters found in one look that this admin was given without hearing of it; the next look finds the rest. */
const UNHELD_MAX = 1_000;

/** Hand-overs on this pool. Every call rejects with DatabaseUnavailable when the database is away. */
export class StoredHandOvers {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Gives those of the clusters that this admin holds under these epochs to an admin that is alive, knows of
   * hand-overs, is not being drained and has room for them: the smallest first, as many as fit. Locks rows before the
   * room of the new owner, as enrolments do (committer/capacity.ts), so nobody waits for it in a circle. Rejects: it is
   * not known whether it was done.
   */
  give(from: string, owned: readonly Owned[], to: string): Promise<HandedOver> {
    return inTransaction(
      this.#pool,
      'handing over clusters',
      async (client) => {
        const values = [from, owned.map(({ cluster }) => cluster), owned.map(({ epoch }) => epoch)];
        await client.query(LOCKED, values);
        await client.query(`select pg_advisory_xact_lock(${ROOM_LOCK}, hashtext($1::uuid::text))`, [to]);
        const { rows } = await client.query<ReceiverRow>(GIVEN, [...values, to]);
        const receiver = rows[0];
        const given = (receiver?.given ?? []).map(({ cluster, epoch }) => ({ cluster, epoch: Number(epoch) }));
        await tell(client, to, given);
        return { given, url: receiver?.url ?? '', staysBecause: reasonOf(receiver, given.length, owned.length) };
      },
      `begin; set local lock_timeout = ${HAND_OVER_LOCK_MS_MAX}; set local statement_timeout = ${HAND_OVER_STATEMENT_MS_MAX}`,
    );
  }

  /** Leases of this admin that run, without those named: it was given them, and did not hear of it. */
  async unheld(adminId: string, held: readonly ClusterId[]): Promise<readonly Owned[]> {
    try {
      const { rows } = await this.#pool.query<{ cluster: ClusterId; epoch: string }>(
        `select cluster_id as cluster, epoch::text from cluster_ownership
          where admin_id = $1 and lease_until > clock_timestamp() and not (cluster_id = any($2::uuid[])) limit ${UNHELD_MAX}`,
        [adminId, held],
      );
      return rows.map(({ cluster, epoch }) => ({ cluster, epoch: Number(epoch) }));
    } catch (error) {
      throw asUnavailable(error, 'looking for clusters that were given');
    }
  }
}

/** With the transaction: nobody is told of what was not done. */
async function tell(client: Pick<PoolClient, 'query'>, to: string, given: readonly Owned[]): Promise<void> {
  if (given.length === 0) return;
  const message = ['owned', ...given.map(({ cluster, epoch }) => `${cluster}:${epoch}`)].join(' ');
  await client.query('select pg_notify($1, $2)', [ownChannel(to), message]);
}

function reasonOf(receiver: ReceiverRow | undefined, given: number, wanted: number): StaysBecause | null {
  if (receiver === undefined || !receiver.is_there) return 'gone';
  if (receiver.is_draining) return 'draining';
  if (given === wanted) return null;
  return given === receiver.held ? 'not_ours' : 'no_room';
}

interface ReceiverRow {
  readonly url: string;
  readonly is_there: boolean;
  readonly is_draining: boolean;
  /** Of the clusters: how many are the giver's still. */
  readonly held: number;
  readonly given: readonly { readonly cluster: ClusterId; readonly epoch: string }[] | null;
}

/** Rows of $1 under the epochs that it knows, in the order in which batches lock them (committer/hot-batch.ts). */
const HELD = `cluster_ownership o join unnest($2::uuid[], $3::bigint[]) as v(id, epoch) on v.id = o.cluster_id and v.epoch = o.epoch
  where o.admin_id = $1::uuid and o.lease_until > clock_timestamp()`;

const LOCKED = `select o.cluster_id from ${HELD} order by o.cluster_id for update of o`;

const GIVEN = `with receiver as (
    select a.id, a.url, a.${IS_LIVE} and a.peer_url is not null and coalesce(a.link_version >= ${HAND_OVER_LINK_VERSION}, false) as is_there,
      ${GIVEN_NOTHING_SINCE} is not null as is_draining, greatest(0, ${EDGE_CAPACITY} - ${OWNED_NODES}) as room
    from admin a left join admin_identity i on i.name = a.name where a.id = $4::uuid and a.id <> $1::uuid),
  held as (
    select h.cluster_id, sum(c.node_count) over (order by c.node_count, c.id) as nodes
    from (select o.cluster_id from ${HELD}) h join cluster c on c.id = h.cluster_id),
  given as (
    update cluster_ownership o set admin_id = r.id, epoch = o.epoch + 1, lease_until = clock_timestamp() + ${LEASE_MS} * interval '1 ms'
    from held h, receiver r where o.cluster_id = h.cluster_id and r.is_there and not r.is_draining and h.nodes <= r.room
    returning o.cluster_id, o.epoch)
  select r.url, r.is_there, r.is_draining, (select count(*)::int from held) as held,
    (select json_agg(json_build_object('cluster', cluster_id, 'epoch', epoch::text)) from given) as given
  from receiver r`;
