/** What the rows say of the admins and of who owns what, by the database's clock. */
import type { Pool } from 'pg';
import { aheadBy } from './incarnations/incarnation.ts';
import { rowsOf, sql, type Sql } from './reads/sql.ts';
import { taskHolders, type TaskHolder } from './reads/task-holders.ts';

/** Counts for health. Each call is one statement, and rejects with DatabaseUnavailable when the database is away. */
export interface HealthCounts {
  /** Null: this admin is not registered. */
  registrationAgeMs(): Promise<number | null>;
  unrecordedClusters(): Promise<number>;
  eventsLieBehind(): Promise<boolean>;
  admins(
    silentMsMin: number,
    goneMs: number,
  ): Promise<{ readonly total: number; readonly silent: number; readonly draining: number }>;
  isDraining(): Promise<boolean>;
  clusters(): Promise<{ readonly total: number; readonly ownerless: number }>;
  idleTasks(hasBroker: boolean): Promise<readonly string[]>;
}

/** Counts on this pool, for the admin of this id. */
export function healthCounts(pool: Pool, adminId: string): HealthCounts {
  async function one<R extends object>(statement: Sql): Promise<R | undefined> {
    return (await rowsOf<R>(pool, 'looking after the health of the admins', statement))[0];
  }

  return {
    async registrationAgeMs() {
      return (
        (
          await one<{ age: number }>(
            sql`select (extract(epoch from clock_timestamp() - last_checked_in) * 1000)::float8 as age from admin where id = ${adminId}::uuid`,
          )
        )?.age ?? null
      );
    },
    async unrecordedClusters() {
      return (
        (
          await one<{ count: number }>(
            sql`select count(*)::int as count from cluster c where not exists (select from cluster_ownership o where o.cluster_id = c.id)`,
          )
        )?.count ?? 0
      );
    },
    eventsLieBehind: async () => (await aheadBy(pool)) > 0,
    async admins(silentMsMin, goneMs) {
      const counts = await one<{ total: number; silent: number; draining: number }>(sql`
        select count(*)::int as total, (count(*) filter (where last_checked_in < clock_timestamp() - ${silentMsMin}::float8 * interval '1 ms'))::int as silent,
          (count(*) filter (where i.draining_since is not null and last_checked_in >= clock_timestamp() - ${silentMsMin}::float8 * interval '1 ms'))::int as draining
        from admin a left join admin_identity i on i.name = a.name where last_checked_in > clock_timestamp() - ${goneMs}::float8 * interval '1 ms'`);
      return counts ?? { total: 0, silent: 0, draining: 0 };
    },
    async isDraining() {
      const row = await one<{ drains: boolean }>(
        sql`select i.draining_since is not null as drains from admin a join admin_identity i on i.name = a.name where a.id = ${adminId}::uuid`,
      );
      return row?.drains === true;
    },
    async clusters() {
      const counts = await one<{ total: number; ownerless: number }>(sql`
        select count(*)::int as total, (count(*) filter (where o.lease_until is null or o.lease_until <= clock_timestamp()))::int as ownerless
        from cluster c left join cluster_ownership o on o.cluster_id = c.id`);
      return counts ?? { total: 0, ownerless: 0 };
    },
    async idleTasks(hasBroker) {
      const holders = await rowsOf<TaskHolder>(pool, 'looking who does what', taskHolders(hasBroker));
      return holders.filter(({ admin }) => admin === null).map(({ task }) => task);
    },
  };
}
