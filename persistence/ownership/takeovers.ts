/**
 * Free clusters that an admin takes over, as far as it has room for their nodes by the rows of that moment: what it
 * saw of them is older, and nodes may have enrolled at it since.
 */
import type { Pool, QueryConfig } from 'pg';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { EDGE_CAPACITY, OWNED_NODES, ROOM_LOCK } from '../committer/capacity.ts';
import { isLockedOut } from '../connections/availability.ts';
import { inOneRoundTrip } from '../connections/transaction.ts';
import { IS_OURS, LEASE_MS, type Owned } from './leases.ts';

/**
 * How long a takeover waits for its turn with the room of its admin, in ms: as a hand-over does. The renewal of all
 * leases of this admin comes behind it, a second later.
 */
export const TAKEOVER_LOCK_MS_MAX = 500;

/** Clusters in one transaction: with their ids it fits into the buffers of a connection (connections/series.ts). */
export const TAKEN_AT_ONCE_MAX = 2_000;

/** Takeovers on this pool. */
export class StoredTakeovers {
  readonly #pool: Pool;
  readonly #instanceId: string | null;
  readonly #lockMsMax: number;

  /** `instanceId`: as of Leases. */
  constructor(pool: Pool, instanceId: string | null, lockMsMax = TAKEOVER_LOCK_MS_MAX) {
    this.#pool = pool;
    this.#instanceId = instanceId;
    this.#lockMsMax = lockMsMax;
  }

  /**
   * Takes those of the clusters that are still free, the smallest first, as many as this admin has room for; each gets
   * the next epoch. One whose row somebody holds is left for the next round, and the rest does not wait for it; so is
   * what is left where the room is held for too long, or the database is lost on the way. Of many the smallest first
   * is true of TAKEN_AT_ONCE_MAX at a time. Rejects with DatabaseUnavailable when the database is away.
   */
  async take(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[]> {
    const untilMs = performance.now() + this.#lockMsMax; // waits of several transactions would outlast leases
    const taken: Owned[] = [];
    for (let at = 0; at < clusters.length && (at === 0 || performance.now() < untilMs); at += TAKEN_AT_ONCE_MAX) {
      const some = await this.#taken(adminId, clusters.slice(at, at + TAKEN_AT_ONCE_MAX)).catch((error: unknown) => {
        if (taken.length > 0) return null; // what is stored is told: nobody would renew it
        throw error;
      });
      if (some === null) break;
      taken.push(...some);
    }
    return taken;
  }

  /** Null: the room was held for too long. */
  async #taken(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[] | null> {
    const statements: readonly QueryConfig[] = [
      { text: 'begin' },
      { text: "select set_config('lock_timeout', $1, true)", values: [String(this.#lockMsMax)] },
      { text: LOCKED, values: [clusters] },
      { text: IN_TURN, values: [adminId] },
      { text: TAKEN, values: [adminId, LEASE_MS, this.#instanceId] },
    ];
    try {
      const results = await inOneRoundTrip(this.#pool, 'taking clusters over', statements, null);
      const rows = (results.at(-1)?.rows ?? []) as readonly { readonly cluster: ClusterId; readonly epoch: string }[];
      return rows.map(({ cluster, epoch }) => ({ cluster, epoch: Number(epoch) }));
    } catch (error) {
      if (isLockedOut(error)) return null;
      throw error;
    }
  }
}

/** Where the transaction remembers the clusters whose rows it locked: nobody waits for an answer between the two. */
const LOCKED_SETTING = 'edge.taken_over';

/**
 * Rows before the room, as enrolments and hand-overs lock them, and in the order of batches (committer/hot-batch.ts). A
 * cluster into which somebody moves a node is left for the next round: its number of nodes is not known, and nobody
 * had to ask for room there as it had no owner.
 */
const LOCKED = `select set_config('${LOCKED_SETTING}', coalesce(string_agg(cluster_id::text, ','), ''), true) from (
    select o.cluster_id from cluster_ownership o join cluster c on c.id = o.cluster_id
    where o.cluster_id = any($1::uuid[]) and o.lease_until <= clock_timestamp() order by o.cluster_id for update of o skip locked for share of c skip locked) free`;

/** Whoever comes into a cluster of this admin, or gives it one, does so before or after. */
const IN_TURN = `select pg_advisory_xact_lock(${ROOM_LOCK}, hashtext($1::uuid::text)) where current_setting('${LOCKED_SETTING}') <> ''`;

/** A statement of its own: it sees what whoever had the room before has stored. */
const TAKEN = `with self as (select greatest(0, ${EDGE_CAPACITY} - ${OWNED_NODES}) as room from admin a where a.id = $1::uuid and ${IS_OURS(3)}),
  free as (
    select c.id, sum(c.node_count) over (order by c.node_count, c.id) as nodes
    from cluster c where c.id = any(string_to_array(current_setting('${LOCKED_SETTING}'), ',')::uuid[]))
  update cluster_ownership o set admin_id = $1::uuid, epoch = o.epoch + 1, lease_until = clock_timestamp() + $2 * interval '1 ms'
  from free, self where o.cluster_id = free.id and free.nodes <= self.room
  returning o.cluster_id as cluster, o.epoch::text as epoch`;
