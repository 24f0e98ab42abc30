/** Relays inside admins as rows: each name has a region of its own that stays, and says where its relay is. */
import type { Pool } from 'pg';
import { REGISTRATION_LOCK } from '../admins/registration.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { inTransaction } from '../connections/transaction.ts';

/**
 * Regions that are given to admins, of those that the protocol leaves to operators. 900 is left out: it is that of a
 * relay that runs alone unless set otherwise, and that of every admin of the release before.
 */
const REGION_MIN = 901;
const REGION_MAX = 999;

/**
 * A relay is in the map for so long after its admin was last heard of, in ms: a restart leaves it there. Time in which
 * no admin was heard of is none: the database was away.
 */
export const RELAY_GONE_MS = 15_000;

/** Where a relay is, for the map. */
export interface StoredRelay {
  readonly code: string;
  readonly hostName: string;
  readonly port: number;
  readonly pin: string | null;
}

/** What an admin asks of them. Every call rejects with DatabaseUnavailable when the database is away. */
export interface RelayRows {
  /**
   * The region of this admin's name, given to it the first time. Rejects with a line for the operator when none is
   * left.
   */
  region(): Promise<number>;
  /** Says where the relay of this admin is; null: it has none. */
  publish(relay: StoredRelay | null): Promise<void>;
  /** Relays of admins that live, or did a moment ago, in the order of their regions. */
  live(): Promise<readonly (StoredRelay & { readonly id: number })[]>;
}

/** For the admin of this name. */
export function relayRows(pool: Pool, adminName: string): RelayRows {
  return {
    region: () => regionOf(pool, adminName),
    async publish(relay) {
      await rowsOf(
        pool,
        'saying where the relay is',
        sql`update admin_identity set relay = ${relay === null ? null : JSON.stringify(relay)}::jsonb where name = ${adminName}`,
      );
    },
    live: () =>
      rowsOf<StoredRelay & { readonly id: number }>(
        pool,
        'looking for relays of admins',
        sql`
        select i.relay_region as id, i.relay->>'code' as code, i.relay->>'hostName' as "hostName", (i.relay->>'port')::int as port, i.relay->>'pin' as pin
        from admin_identity i join admin a on a.name = i.name
        where i.relay is not null and i.relay_region is not null
          and a.last_checked_in > least((select max(last_checked_in) from admin), clock_timestamp()) - ${RELAY_GONE_MS}::int * interval '1 ms'
        order by i.relay_region`,
      ),
  };
}

/**
 * Names come into the list, and get a region, one after the other. Where none is left, that of a name long gone is
 * given on.
 */
function regionOf(pool: Pool, name: string): Promise<number> {
  const doing = 'giving a relay its region';
  return inTransaction(pool, doing, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [REGISTRATION_LOCK]);
    const [mine] = await rowsOf<{ id: number | null }>(
      client,
      doing,
      sql`select relay_region as id from admin_identity where name = ${name}`,
    );
    if (mine?.id != null) return mine.id;
    const free = sql`select r as id from generate_series(${REGION_MIN}::int, ${REGION_MAX}::int) r where not exists (select from admin_identity i where i.relay_region = r) order by r limit 1`;
    const given = sql`
      with longest_gone as (
        select name from admin_identity i where relay_region >= ${REGION_MIN}::int and gone_since is not null
          and not exists (select from admin a where a.name = i.name) order by gone_since limit 1)
      update admin_identity i set relay_region = null, relay = null from longest_gone g where i.name = g.name`;
    const first = await rowsOf<{ id: number }>(client, doing, free);
    if (first.length === 0) await rowsOf(client, doing, given);
    const [region] = first.length > 0 ? first : await rowsOf<{ id: number }>(client, doing, free);
    if (region === undefined)
      throw new Error(
        `All ${REGION_MAX - REGION_MIN + 1} regions for relays inside admins are taken: switch EMBEDDED_RELAY off at some of them.`,
      );
    await rowsOf(client, doing, sql`update admin_identity set relay_region = ${region.id}::int where name = ${name}`);
    return region.id;
  });
}
