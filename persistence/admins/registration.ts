/**
 * How an admin comes into the list of admins under its name, and stays there: only one process of it, with URLs of its
 * own.
 */
import type { ClientBase, Pool } from 'pg';
import type { AdminProblem } from '../../actors/resources/peer-admin.ts';
import { v7 } from 'uuid';
import { inTransaction } from '../connections/transaction.ts';
import { ADMIN_SILENCE_MS_MAX } from '../ownership/leases.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/**
 * Advisory lock under which admins come into the list and names leave it: the first eight bytes of
 * `sha256('edge-fleet-control admins')`. Two admins with one URL that start at once do not overlook each other.
 */
export const REGISTRATION_LOCK = '6485707681475403776';

/** The row of an admin, but for its id. */
export interface SaidOfItself {
  readonly name: string;
  readonly url: string;
  readonly peerUrl: string | null;
  readonly adminClusterName: string;
  readonly version: string;
  readonly maxWireguardPeers: number;
  readonly linkVersion: number;
  readonly startedAt: Date;
  readonly instanceId: string;
  readonly problems: readonly AdminProblem[];
}

/** As they are stored: an admin of a release before leaves them as they are, and is another process. */
export interface StoredProblems {
  readonly instance: string;
  readonly problems: readonly AdminProblem[];
}

/** A URL that is this admin's alone, and the setting that it comes from. */
export interface OwnUrl {
  readonly url: string;
  readonly setting: 'ADMIN_OWN_URL' | 'ADMIN_PEER_URL' | 'ADMIN_URLS';
}

/** The process that a name belongs to as of its last check-in. Times are Unix ms by the database's clock. */
export interface NameHolder {
  /** Null: of a release that knows no processes. */
  readonly instanceId: string | null;
  readonly checkedInMs: number;
  readonly startedAtMs: number;
}

/** The admins that use this database have another ADMIN_CLUSTER_NAME. */
export class AnotherAdminGroup extends Error {
  override readonly name = 'AnotherAdminGroup';
}

/** Another admin that runs now has the same URL. */
export class SharedAdminUrl extends Error {
  override readonly name = 'SharedAdminUrl';
}

/** What for, in errors. */
const DOING = 'looking up admins';

/** Who has the name; null: nobody. Rejects with DatabaseUnavailable. */
export async function holderOf(pool: Pool, name: string): Promise<NameHolder | null> {
  const [row] = await rowsOf<NameHolder>(
    pool,
    DOING,
    sql`
    select instance_id as "instanceId", (extract(epoch from last_checked_in) * 1000)::float8 as "checkedInMs",
      (extract(epoch from started_at) * 1000)::float8 as "startedAtMs" from admin where name = ${name}`,
  );
  return row ?? null;
}

/**
 * Comes into the list, or changes what stands there, in the place of this process of the name: its own or a former one.
 * Answers the id; null: another process has the name. Throws AnotherAdminGroup and SharedAdminUrl, and
 * DatabaseUnavailable.
 */
export function register(
  pool: Pool,
  said: SaidOfItself,
  mine: readonly OwnUrl[],
  inPlaceOf: string | null,
): Promise<string | null> {
  return inTransaction(pool, DOING, async (client) => {
    await rowsOf(client, DOING, sql`select pg_advisory_xact_lock(${REGISTRATION_LOCK}::bigint)`);
    const others = await rowsOf<OtherAdmin>(
      client,
      DOING,
      sql`
      select name, url, peer_url as "peerUrl", admin_cluster_name as "adminClusterName" from admin
        where name <> ${said.name} and last_checked_in > clock_timestamp() - ${ADMIN_SILENCE_MS_MAX}::int * interval '1 ms'`,
    );
    refuseAnotherGroup(said, others);
    refuseSharedUrls(mine, others);
    const known = await identityOf(client, said.name);
    const id = await checkInAs(client, known, said, inPlaceOf);
    // Another id is there where an older release ran under this name meanwhile: that one is known to others now.
    if (id !== null && id !== known)
      await rowsOf(client, DOING, sql`update admin_identity set id = ${id}::uuid where name = ${said.name}`);
    return id;
  });
}

/**
 * Writes that this process is there now. Answers the id; null: another process than it and `inPlaceOf` has the name.
 * Rejects with DatabaseUnavailable.
 */
export async function checkInAs(
  client: Pool | ClientBase,
  id: string,
  said: SaidOfItself,
  inPlaceOf: string | null = said.instanceId,
): Promise<string | null> {
  const problems = JSON.stringify({ instance: said.instanceId, problems: said.problems } satisfies StoredProblems);
  const [row] = await rowsOf<{ id: string }>(
    client,
    DOING,
    sql`
    insert into admin as a (id, name, url, peer_url, admin_cluster_name, version, max_wireguard_peers, link_version, started_at, instance_id, problems, last_checked_in)
      values (${id}::uuid, ${said.name}, ${said.url}, ${said.peerUrl}, ${said.adminClusterName}, ${said.version}, ${said.maxWireguardPeers}::int, ${said.linkVersion}::int,
        ${said.startedAt.toISOString()}::timestamptz, ${said.instanceId}::uuid, ${problems}::jsonb, clock_timestamp())
      on conflict (name) do update set url = excluded.url, peer_url = excluded.peer_url, admin_cluster_name = excluded.admin_cluster_name, version = excluded.version,
        max_wireguard_peers = excluded.max_wireguard_peers, link_version = excluded.link_version, started_at = excluded.started_at, instance_id = excluded.instance_id, problems = excluded.problems, last_checked_in = clock_timestamp(),
        stopping_since = case when a.instance_id = excluded.instance_id then a.stopping_since end
        where a.instance_id = excluded.instance_id or a.instance_id is not distinct from ${inPlaceOf}::uuid
      returning a.id`,
  );
  return row?.id ?? null;
}

interface OtherAdmin {
  readonly name: string;
  readonly url: string;
  readonly peerUrl: string | null;
  readonly adminClusterName: string;
}

/** They would be one group under two names. */
function refuseAnotherGroup({ adminClusterName }: SaidOfItself, others: readonly OtherAdmin[]): void {
  const other = others.find((one) => one.adminClusterName !== adminClusterName);
  if (other !== undefined)
    throw new AnotherAdminGroup(
      `ADMIN_CLUSTER_NAME is "${adminClusterName}": it should be "${other.adminClusterName}", as that of the admin ${other.name}, which uses this database now. To change it, stop all admins first.`,
    );
}

/**
 * Agents and other admins that were sent to such a URL would come to one or the other. A balancer is one: it leads to
 * each of its admins.
 */
function refuseSharedUrls(mine: readonly OwnUrl[], others: readonly OtherAdmin[]): void {
  for (const { url, setting } of mine) {
    const other = others.find((one) => isSamePlace(one.url, url) || isSamePlace(one.peerUrl ?? '', url));
    if (other === undefined) continue;
    throw new SharedAdminUrl(
      setting === 'ADMIN_URLS'
        ? `ADMIN_OWN_URL is not set, and the first of ADMIN_URLS (${url}) is that of admin ${other.name}, which runs now: set ADMIN_OWN_URL at each admin to a URL of that admin alone.`
        : `${setting} (${url}) is that of admin ${other.name} too, which runs now: set it at each admin to a URL of that admin alone.`,
    );
  }
}

function isSamePlace(one: string, other: string): boolean {
  return placeOf(one) === placeOf(other);
}

function placeOf(url: string): string {
  return URL.canParse(url) ? new URL(url).href.replace(/\/+$/u, '') : url;
}

/** The one that was stored first for this name; a new name gets a new one. */
async function identityOf(client: ClientBase, name: string): Promise<string> {
  await rowsOf(
    client,
    DOING,
    sql`insert into admin_identity (name, id, inserted_at) values (${name}, ${v7()}::uuid, clock_timestamp()) on conflict do nothing`,
  );
  const [row] = await rowsOf<{ id: string }>(client, DOING, sql`select id from admin_identity where name = ${name}`);
  if (row === undefined) throw new Error('A name that was just stored is not there.');
  return row.id;
}
