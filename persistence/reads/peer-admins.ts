/** All admins that share this database, as the rows have them by its clock, and which of them drain. */
import type { Pool, PoolClient } from 'pg';
import type { PeerAdmin, PeerAdmins } from '../../api/admin-ports.ts';
import { edgeCapacity } from '../../actors/edge-capacity.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { ADMIN_GONE_MS } from '../../actors/resources/admin.ts';
import { instant } from '../../actors/resources/instant.ts';
import {
  OWNED_CLUSTERS_MAX,
  type OwnedClusterResource,
  type PeerAdminStatus,
} from '../../actors/resources/peer-admin.ts';
import { ADMIN_SILENCE_MS_MAX } from '../ownership/leases.ts';
import { REGISTRATION_LOCK, type StoredProblems } from '../admins/registration.ts';
import { inTransaction } from '../connections/transaction.ts';
import { rowsOf, sql, type Sql } from './sql.ts';
import { tasksOf } from './task-holders.ts';

const DOING = 'looking up admins';

/** Reads and changes on this pool. Every call rejects with DatabaseUnavailable when the database is away. */
export class StoredPeerAdmins implements PeerAdmins {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  list(): Promise<readonly PeerAdmin[]> {
    return listedAdmins(this.#pool);
  }

  find(nameOrId: string): Promise<PeerAdmin | null> {
    return named(this.#pool, nameOrId);
  }

  clustersOf(admin: string): Promise<readonly OwnedClusterResource[]> {
    return ownedClusters(this.#pool, admin);
  }

  drain(nameOrId: string): Promise<Result<PeerAdmin>> {
    return this.#changed(nameOrId, async (client, admin) => {
      if (admin.draining_since !== null) return null;
      if (admin.status === 'live' && !(await isAnotherLive(client, admin.id))) return NOBODY_ELSE;
      await rowsOf(
        client,
        'draining an admin',
        sql`insert into admin_identity (name, id, inserted_at, draining_since) values (${admin.name}, ${admin.id}::uuid, clock_timestamp(), clock_timestamp())
          on conflict (name) do update set draining_since = clock_timestamp()`,
      );
      return null;
    });
  }

  resume(nameOrId: string): Promise<Result<PeerAdmin>> {
    return this.#changed(nameOrId, async (client, { name }) => {
      await rowsOf(
        client,
        'letting an admin take clusters again',
        sql`update admin_identity set draining_since = null where name = ${name} and draining_since is not null`,
      );
      return null;
    });
  }

  /**
   * What the admin is afterwards, or why it was refused. One change after the other, and while no admin comes or is
   * forgotten: two that are drained at once do not both go.
   */
  #changed(
    nameOrId: string,
    change: (client: PoolClient, admin: PeerAdmin) => Promise<Refused | null>,
  ): Promise<Result<PeerAdmin>> {
    return inTransaction(this.#pool, 'changing an admin', async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [REGISTRATION_LOCK]);
      const admin = await named(client, nameOrId);
      if (admin === null) return NO_SUCH_ADMIN;
      return (await change(client, admin)) ?? ok((await named(client, admin.name)) ?? admin);
    });
  }
}

interface AdminRow {
  readonly id: string;
  readonly name: string;
  readonly url: string | null;
  readonly peer_url: string | null;
  readonly admin_cluster_name: string | null;
  readonly version: string | null;
  readonly link_version: number | null;
  readonly peers_max: number | null;
  readonly started_ms: number | null;
  readonly checked_in_ms: number | null;
  readonly draining_ms: number | null;
  readonly left_ms: number | null;
  readonly is_live: boolean;
  readonly is_gone: boolean;
  /** Since it was heard, by the clock of the database. */
  readonly silent_ms: number | null;
  readonly others: number;
  readonly clusters: number;
  readonly nodes: number;
  readonly tasks: readonly string[];
  readonly instance_id: string | null;
  readonly problems: StoredProblems | null;
}

interface OwnedRow {
  readonly name: string;
  readonly node_count: number;
  readonly epoch: number;
  readonly since_ms: number | null;
  readonly until_ms: number;
}

type Refused = ReturnType<typeof refuse>;

/** Which are listed: those in the list, and those that drain. */
const LISTED = sql`a.id is not null or i.draining_since is not null`;

const NO_SUCH_ADMIN = refuse('not_found', 'There is no admin of this name or id.');
const NOBODY_ELSE = refuse(
  'conflict',
  'No other admin is there to take its clusters: start another one, or let one that drains take clusters again.',
);

/** How an admin is, and for how long it was not heard, in ms; null: it was stopped. */
export interface Heartbeat {
  readonly name: string;
  readonly status: PeerAdminStatus;
  readonly silentMs: number | null;
}

/** Those of all admins that are listed, by name. */
export async function heartbeats(client: Pool | PoolClient): Promise<readonly Heartbeat[]> {
  const rows = await rowsOf<AdminRow>(client, DOING, admins(LISTED));
  return rows.map((row) => ({ name: row.name, status: statusOf(row)[0], silentMs: row.silent_ms }));
}

/** All admins that are listed, by name. */
export function listedAdmins(client: Pool | PoolClient): Promise<readonly PeerAdmin[]> {
  return adminsWhere(client, LISTED);
}

/** What the admin of this id owns now, by name, at most OWNED_CLUSTERS_MAX. */
export async function ownedClusters(
  client: Pool | PoolClient,
  admin: string,
): Promise<readonly OwnedClusterResource[]> {
  const rows = await rowsOf<OwnedRow>(
    client,
    DOING,
    sql`
    select c.name, c.node_count, w.epoch::float8 as epoch, ${ms(sql`w.owned_since`)} as since_ms, ${ms(sql`w.lease_until`)} as until_ms
    from cluster_ownership w join cluster c on c.id = w.cluster_id
    where w.admin_id = ${admin}::uuid and w.lease_until > clock_timestamp() order by c.name collate "C" limit ${OWNED_CLUSTERS_MAX}::int`,
  );
  return rows.map((row) => ({
    cluster_name: row.name,
    node_count: row.node_count,
    epoch: row.epoch,
    owned_since: instant(row.since_ms),
    lease_until: instant(row.until_ms),
  }));
}

/** The name counts before the id, so that no name hides an admin. */
async function named(client: Pool | PoolClient, nameOrId: string): Promise<PeerAdmin | null> {
  const found = await adminsWhere(
    client,
    sql`coalesce(a.name, i.name) = ${nameOrId} or coalesce(a.id, i.id)::text = ${nameOrId.toLowerCase()}`,
  );
  return found.find(({ name }) => name === nameOrId) ?? found[0] ?? null;
}

async function isAnotherLive(client: PoolClient, admin: string): Promise<boolean> {
  return (await adminsWhere(client, sql`a.id <> ${admin}::uuid`)).some(({ status }) => status === 'live');
}

/** Those in the list (`a`), and names that are known (`i`), by name. */
async function adminsWhere(client: Pool | PoolClient, condition: Sql): Promise<readonly PeerAdmin[]> {
  return (await rowsOf<AdminRow>(client, DOING, admins(condition))).map(adminOf);
}

function admins(condition: Sql): Sql {
  return sql`
    select coalesce(a.id, i.id) as id, coalesce(a.name, i.name) as name, a.url, a.peer_url, a.admin_cluster_name, a.version, a.link_version, a.instance_id, a.problems,
      a.max_wireguard_peers as peers_max, ${ms(sql`a.started_at`)} as started_ms, ${ms(sql`a.last_checked_in`)} as checked_in_ms,
      ${ms(sql`i.draining_since`)} as draining_ms, ${ms(sql`i.gone_since`)} as left_ms,
      coalesce(a.last_checked_in > clock_timestamp() - ${ADMIN_SILENCE_MS_MAX} * interval '1 ms', false) as is_live,
      (extract(epoch from clock_timestamp() - a.last_checked_in) * 1000)::float8 as silent_ms,
      coalesce(a.last_checked_in < clock_timestamp() - ${ADMIN_GONE_MS} * interval '1 ms', true) as is_gone,
      (select count(*) from admin p where p.id <> a.id and p.last_checked_in > clock_timestamp() - ${ADMIN_SILENCE_MS_MAX} * interval '1 ms')::int as others,
      coalesce(o.clusters, 0) as clusters, coalesce(o.nodes, 0) as nodes, ${tasksOf(sql`a.id`)} as tasks
    from admin a full join admin_identity i on i.name = a.name
      left join (select w.admin_id, count(*)::int as clusters, sum(c.node_count)::int as nodes from cluster_ownership w join cluster c on c.id = w.cluster_id
        where w.lease_until > clock_timestamp() group by w.admin_id) o on o.admin_id = a.id
    where ${condition} order by coalesce(a.name, i.name) collate "C"`;
}

function adminOf(row: AdminRow): PeerAdmin {
  const [status, sinceMs] = statusOf(row);
  const capacity = row.peers_max === null ? null : edgeCapacity(row.peers_max, row.others + 1);
  return {
    id: row.id,
    name: row.name,
    status,
    status_since: instant(sinceMs),
    draining_since: instant(row.draining_ms),
    admin_cluster_name: row.admin_cluster_name,
    version: row.version,
    url: row.url,
    peer_url: row.peer_url,
    link_version: row.link_version,
    started_at: instant(row.started_ms),
    last_checked_in: instant(row.checked_in_ms),
    cluster_count: row.clusters,
    node_count: row.nodes,
    edge_node_capacity: capacity,
    tasks: row.tasks,
    room: status === 'live' ? Math.max(0, (capacity ?? 0) - row.nodes) : 0,
    problems: row.is_live ? problemsOf(row) : null,
  };
}

/** Those of the process that checks in: one of a release before tells none, and leaves what another one said. */
function problemsOf({ problems, instance_id: instance }: AdminRow): PeerAdmin['problems'] {
  return problems !== null && problems.instance === instance ? problems.problems.map((one) => ({ ...one })) : null;
}

function statusOf(row: AdminRow): readonly [status: PeerAdminStatus, sinceMs: number | null] {
  if (row.is_live)
    return row.draining_ms === null
      ? ['live', row.started_ms]
      : ['draining', Math.max(row.draining_ms, row.started_ms ?? 0)];
  if (row.is_gone) return ['gone', row.checked_in_ms ?? row.left_ms];
  return ['silent', row.checked_in_ms];
}

/** Unix ms of a column. */
function ms(column: Sql): Sql {
  return sql`trunc(extract(epoch from ${column}) * 1000)::float8`;
}
