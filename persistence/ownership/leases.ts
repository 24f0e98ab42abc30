/**
 * Leases of clusters in the database: claimed, renewed and released by its clock (O1, O2).
 *
 * Locks of an ownership row, from weak to strong: who writes under a lease takes `for key share`, a renewal
 * `for no key update`, and whoever changes the owner or the epoch `for update`, before it changes it. The first two go
 * side by side, so that no write that waits for something else keeps the renewal of all clusters waiting (L4); the last
 * one excludes both. A change of the epoch without that lock would be overlooked by who writes: PostgreSQL lets
 * `for key share` pass an update that locked no key.
 */
import type { Pool } from 'pg';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { asUnavailable } from '../connections/availability.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/**
 * How long a lease lasts without renewal, in ms. With a tick of 1 s every cluster has an owner within 5 s of a kill
 * (O2).
 */
export const LEASE_MS = 3_000;

/** An admin that has not checked in for this long counts as gone, in ms. */
export const ADMIN_SILENCE_MS_MAX = 3_000;

/**
 * Since when the admin `a` with the identity `i` is given no clusters: it is being drained, or stops. Null: it is not.
 */
export const GIVEN_NOTHING_SINCE = 'coalesce(i.draining_since, a.stopping_since)';

/** Epoch of a cluster that its creator owns. */
export const FIRST_EPOCH = 1;

/** An admin that is alive by the database's clock, and how many clusters and nodes it owns. */
export interface LiveAdmin {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly capacity: number;
  readonly clusters: number;
  readonly nodes: number;
  /** False: it is counted as alive only since whoever asks was not there to see its silence. */
  readonly isHeard: boolean;
  /** Of its process, where others reach it, and the version of what it says to them; null: a release before that. */
  readonly instanceId: string | null;
  readonly peerUrl: string | null;
  readonly linkVersion: number | null;
  /** Unix ms. */
  readonly startedAtMs: number;
  /** Unix ms; null: it takes clusters. */
  readonly drainingSinceMs: number | null;
}

/** A cluster, and how many nodes it has. */
export interface SizedCluster {
  readonly cluster: ClusterId;
  readonly name: string;
  readonly nodes: number;
}

/** A cluster and its owner by a lease that runs; null: nobody. */
interface PlacedClusterRow extends SizedCluster {
  readonly owner: string | null;
  readonly epoch: number;
  readonly isBusy: boolean;
}

/** Who owns what. */
interface StoredPlacement {
  readonly admins: readonly {
    readonly id: string;
    readonly name: string;
    readonly capacity: number;
    /** Since its process started. */
    readonly aliveMs: number;
    readonly isHeard: boolean;
    readonly isDraining: boolean;
    readonly linkVersion: number | null;
  }[];
  readonly clusters: readonly PlacedClusterRow[];
}

/** A cluster under the epoch at which this admin owns it. */
export interface Owned {
  readonly cluster: ClusterId;
  readonly epoch: number;
}

/** What a survey finds. */
interface Survey {
  readonly admins: readonly LiveAdmin[];
  readonly free: readonly SizedCluster[];
  readonly databaseMs: number;
  readonly nextFreeMs: number | null;
}

type SurveyRow = Omit<Survey, 'admins' | 'free'> & {
  readonly [Key in 'admins' | 'free']: Survey[Key] | null;
};

/** Leases on this pool. Every call rejects with DatabaseUnavailable when the database is away. */
export class Leases {
  readonly #pool: Pool;
  readonly #instanceId: string | null;
  readonly #listeners: ((admins: readonly LiveAdmin[]) => void)[] = [];

  /**
   * `instanceId`: of this process. Where it is given, nothing is renewed, taken, let go or said of a stop once another
   * process has the name of the admin: what stands under its id in the rows is that one's.
   */
  constructor(pool: Pool, instanceId: string | null = null) {
    this.#pool = pool;
    this.#instanceId = instanceId;
  }

  /**
   * Renews what this process owns, also what ran out and nobody took. Returns what it still owns: a cluster that is
   * missing was taken over. Epochs count, not only the admin: another process of the same name has taken everything up
   * under new ones.
   */
  renew(adminId: string, owned: readonly Owned[]): Promise<readonly Owned[]> {
    return this.#changed(
      'renewing leases',
      `with mine as (${MINE} for no key update of o)
        update cluster_ownership o set lease_until = clock_timestamp() + $5 * interval '1 ms' from mine where o.cluster_id = mine.cluster_id returning o.cluster_id, o.epoch::text`,
      [...this.#named(adminId, owned), LEASE_MS],
    );
  }

  /** Hears of the live admins whenever they were looked up. */
  onSurvey(listener: (admins: readonly LiveAdmin[]) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Live admins and free clusters, in one snapshot. `unseenMs`: others may have been silent for so much longer, since
   * whoever asks was not there to see it (supervisors/ownership/watch-times.ts). `databaseMs`: Unix time then;
   * `nextFreeMs`: the first lease runs out after so long unless it is renewed, in ms; null: none runs, or whoever
   * asks was not there.
   */
  async survey(unseenMs = 0): Promise<Survey> {
    const [row] = await this.#query<SurveyRow>(
      'looking for clusters without owner',
      `select
        (select json_agg(json_build_object('id', a.id, 'name', a.name, 'url', a.url, 'capacity', a.max_wireguard_peers, 'clusters', coalesce(o.clusters, 0), 'nodes', coalesce(o.nodes, 0),
            'isHeard', ${IS_HEARD}, 'instanceId', a.instance_id, 'peerUrl', a.peer_url, 'linkVersion', a.link_version, 'startedAtMs', ${UNIX_MS('a.started_at')}, 'drainingSinceMs', ${UNIX_MS(GIVEN_NOTHING_SINCE)}))
          from admin a left join admin_identity i on i.name = a.name left join (select admin_id, count(*)::int as clusters, sum(c.node_count)::int as nodes from cluster_ownership w join cluster c on c.id = w.cluster_id where ${IS_LEASED} group by admin_id) o on o.admin_id = a.id
          where ${IS_ALIVE}) as admins,
        (select json_agg(json_build_object('cluster', c.id, 'name', c.name, 'nodes', c.node_count)) from cluster_ownership w join cluster c on c.id = w.cluster_id where not ${IS_LEASED}) as free,
        (select extract(epoch from min(w.lease_until) - clock_timestamp()) * 1000 from cluster_ownership w where $1::float8 = 0 and ${IS_LEASED})::float8 as "nextFreeMs",
        (extract(epoch from clock_timestamp()) * 1000)::float8 as "databaseMs"`,
      [unseenMs],
    );
    if (row === undefined) throw new Error('A statement without a condition gave no row.');
    const admins = row.admins ?? [];
    for (const hear of this.#listeners) hear(admins);
    return { ...row, admins, free: row.free ?? [] };
  }

  /** Live admins, and all clusters with their owners, in one snapshot. `unseenMs`: as above. */
  async placement(unseenMs = 0): Promise<StoredPlacement> {
    const [row] = await this.#query<{ admins: StoredPlacement['admins'] | null; clusters: PlacedClusterRow[] | null }>(
      'looking who owns what',
      PLACEMENT,
      [unseenMs],
    );
    return { admins: row?.admins ?? [], clusters: row?.clusters ?? [] };
  }

  /**
   * Takes those of the clusters that are still free, whether there is room or not (takeovers.ts asks for that); each
   * gets the next epoch. One whose row somebody holds is left out, and the rest does not wait for it: it is written
   * for, renewed after all or claimed by another.
   */
  async claim(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[]> {
    if (clusters.length === 0) return [];
    return this.#changed(
      'claiming clusters',
      `with free as (select cluster_id from cluster_ownership where cluster_id = any($2::uuid[]) and lease_until <= clock_timestamp() and ${IS_OURS(4)} order by cluster_id for update skip locked)
        update cluster_ownership o set admin_id = $1, epoch = o.epoch + 1, lease_until = clock_timestamp() + $3 * interval '1 ms' from free where o.cluster_id = free.cluster_id returning o.cluster_id, o.epoch::text`,
      [adminId, clusters, LEASE_MS, this.#instanceId],
    );
  }

  /** Clusters that this admin was the last to own and did not let go, its leases over or not. */
  mine(adminId: string): Promise<readonly SizedCluster[]> {
    return this.#query(
      'looking for clusters of before',
      'select c.id as cluster, c.name, c.node_count as nodes from cluster_ownership w join cluster c on c.id = w.cluster_id where w.admin_id = $1',
      [adminId],
    );
  }

  /**
   * At boot: takes these of what this admin still holds from before its crash, and lets the others go. All get a new
   * epoch, so that nothing of its old self can write.
   */
  retake(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[]> {
    return this.#changed(
      'taking up leases again',
      `with mine as (select cluster_id, cluster_id = any($2::uuid[]) as stays from cluster_ownership where admin_id = $1 and ${IS_OURS(4)} order by cluster_id for update),
        taken as (update cluster_ownership o set admin_id = case when mine.stays then $1 end, epoch = o.epoch + 1, lease_until = clock_timestamp() + case when mine.stays then $3 else 0 end * interval '1 ms' from mine where o.cluster_id = mine.cluster_id returning o.cluster_id, o.epoch::text, mine.stays)
        select cluster_id, epoch from taken where stays`,
      [adminId, clusters, LEASE_MS, this.#instanceId],
    );
  }

  /** Says that this admin stops, for as long as its process lives: others give it nothing more. */
  async stopping(adminId: string): Promise<void> {
    await this.#query(
      'telling of a stop',
      'update admin set stopping_since = clock_timestamp() where id = $1 and ($2::uuid is null or instance_id = $2::uuid)',
      [adminId, this.#instanceId],
    );
  }

  /** Lets these go: they are nobody's, and free at once. */
  async release(adminId: string, owned: readonly Owned[]): Promise<void> {
    await this.#query(
      'releasing leases',
      `with mine as (${MINE} for update of o) update cluster_ownership o set admin_id = null, lease_until = least(o.lease_until, clock_timestamp()) from mine where o.cluster_id = mine.cluster_id`,
      this.#named(adminId, owned),
    );
  }

  #named(adminId: string, owned: readonly Owned[]): unknown[] {
    return [adminId, owned.map((one) => one.cluster), owned.map((one) => one.epoch), this.#instanceId];
  }

  async #changed(doing: string, text: string, values: unknown[]): Promise<readonly Owned[]> {
    const rows = await this.#query<{ cluster_id: ClusterId; epoch: string }>(doing, text, values);
    return rows.map((row) => ({ cluster: row.cluster_id, epoch: Number(row.epoch) }));
  }

  async #query<R extends object>(doing: string, text: string, values: unknown[]): Promise<readonly R[]> {
    try {
      return (await this.#pool.query<R>(text, values)).rows;
    } catch (error) {
      throw asUnavailable(error, doing);
    }
  }
}

/** Who owns a cluster, and where; null when nobody does. Rejects with DatabaseUnavailable when the database is away. */
export async function ownerOf(
  pool: Pool,
  cluster: ClusterId,
): Promise<{ readonly adminId: string; readonly url: string } | null> {
  const [row] = await rowsOf<{ adminId: string; url: string }>(
    pool,
    'looking for the owner of a cluster',
    sql`
    select a.id as "adminId", a.url from cluster_ownership w join admin a on a.id = w.admin_id
      where w.cluster_id = ${cluster}::uuid and w.lease_until > clock_timestamp()`,
  );
  return row ?? null;
}

/** A time as a number, also in JSON. */
const UNIX_MS = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint`;

/** Whether an admin `a` has checked in lately. */
const IS_HEARD = `a.last_checked_in > clock_timestamp() - ${ADMIN_SILENCE_MS_MAX} * interval '1 ms'`;

/**
 * Whether an admin `a` lives, and a lease `w` runs, for who did not see the last $1 ms of silence. One that was let go
 * has no owner whose silence that could be.
 */
const IS_ALIVE = `a.last_checked_in > clock_timestamp() - (${ADMIN_SILENCE_MS_MAX} + $1::float8) * interval '1 ms'`;
const IS_LEASED = `(w.admin_id is not null and w.lease_until > clock_timestamp() - $1::float8 * interval '1 ms')`;

/** A cluster is busy while a node goes into it or out of it: who has to finish that should not change meanwhile. */
const IS_BUSY = `exists (select 1 from mesh_move m where m.from_cluster_id = c.id or m.to_cluster_id = c.id)`;

const PLACEMENT = `select
  (select json_agg(json_build_object('id', a.id, 'name', a.name, 'capacity', a.max_wireguard_peers, 'linkVersion', a.link_version,
      'aliveMs', ${UNIX_MS('clock_timestamp()')} - ${UNIX_MS('a.started_at')}, 'isHeard', ${IS_HEARD}, 'isDraining', ${GIVEN_NOTHING_SINCE} is not null))
    from admin a left join admin_identity i on i.name = a.name where ${IS_ALIVE}) as admins,
  (select json_agg(json_build_object('cluster', c.id, 'name', c.name, 'nodes', c.node_count, 'epoch', w.epoch,
      'owner', case when ${IS_LEASED} then w.admin_id end, 'isBusy', ${IS_BUSY}))
    from cluster_ownership w join cluster c on c.id = w.cluster_id) as clusters`;

/** Whether the process in this parameter has the name of the admin $1; null: nobody asks. */
export const IS_OURS = (place: number): string =>
  `($${place}::uuid is null or exists (select from admin a where a.id = $1 and a.instance_id = $${place}::uuid))`;

/**
 * Rows of $1 under the epochs that it knows, to be locked in the order in which batches lock them
 * (committer/hot-batch.ts): in another order a release and a batch that writes for several clusters would wait for
 * each other.
 */
const MINE = `select o.cluster_id from cluster_ownership o join unnest($2::uuid[], $3::bigint[]) as v(id, epoch) on v.id = o.cluster_id and v.epoch = o.epoch
  where o.admin_id = $1 and ${IS_OURS(4)} order by o.cluster_id`;
