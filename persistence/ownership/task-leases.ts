/** Tasks that one admin does at a time: who has the lease of each, by the database's clock. */
import type { Pool } from 'pg';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';

/**
 * How long a task is held without renewal, in ms, as long as a cluster is: whoever was killed at it is followed after
 * this.
 */
export const TASK_LEASE_MS = 3_000;

/** Sweeps of whole tables. */
export const SWEEPS_TASK = 'sweeps';

/** Self-update requests: whose turn it is, and when they are over. */
export const SELF_UPDATES_TASK = 'self-updates';

/** Networks of the VPN manager made as the rows have them. */
export const RECONCILER_TASK = 'reconciler';

/** The lease of one task, for one admin. Every call rejects with DatabaseUnavailable when the database is away. */
export interface StoredTaskLease {
  /**
   * Takes what is free, ran out, or was this admin's own before a restart. The epoch under which it is held; null:
   * another admin has it, or another process the name of this one.
   */
  claim(): Promise<number | null>;
  /** False: it was taken by another. */
  renew(epoch: number): Promise<boolean>;
  release(epoch: number): Promise<void>;
}

/** Who takes tasks: an admin, and the process of it that asks; null or left out: whichever does. */
export interface TaskTaker {
  readonly adminId: string;
  readonly instanceId?: string | null;
}

/**
 * Whether this process has the name of its admin: one that wakes after another took it would take back at once what is
 * that one's, as both have one id (O1).
 */
export function hasName({ adminId, instanceId = null }: TaskTaker): Sql {
  return sql`(${instanceId}::uuid is null or exists (select from admin a where a.id = ${adminId}::uuid and a.instance_id = ${instanceId}::uuid))`;
}

/**
 * The lease of this task, which the database grants for `leaseMs`. The table has the name of its first task, by which
 * admins of the release before know it. `instanceId`: of this process, as for clusters (leases.ts).
 */
export function taskLease(
  pool: Pool,
  { adminId, instanceId = null }: TaskTaker,
  task: string,
  leaseMs: number,
): StoredTaskLease {
  const until = sql`clock_timestamp() + ${leaseMs}::int * interval '1 ms'`;
  return {
    async claim() {
      const [taken] = await rowsOf(
        pool,
        'looking for the lease of a task',
        sql`select 1 from vpn_lease where name = ${task} and admin_id <> ${adminId}::uuid and lease_until >= clock_timestamp()`,
      );
      if (taken !== undefined) return null; // asked each second: who waits writes nothing and locks nothing
      const [row] = await rowsOf<{ epoch: string }>(
        pool,
        'claiming a task',
        sql`
        insert into vpn_lease as l (name, admin_id, epoch, lease_until)
          select ${task}, ${adminId}::uuid, 1, ${until} where ${hasName({ adminId, instanceId })}
        on conflict (name) do update set admin_id = excluded.admin_id, epoch = l.epoch + 1, lease_until = excluded.lease_until
          where l.admin_id is null or l.admin_id = excluded.admin_id or l.lease_until < clock_timestamp()
        returning epoch::text as epoch`,
      );
      return row === undefined ? null : Number(row.epoch);
    },
    async renew(epoch) {
      const rows = await rowsOf(
        pool,
        'renewing a task',
        sql`update vpn_lease set lease_until = ${until} where name = ${task} and admin_id = ${adminId}::uuid and epoch = ${epoch}::bigint returning 1`,
      );
      return rows.length === 1;
    },
    async release(epoch) {
      await rowsOf(
        pool,
        'giving a task back',
        sql`update vpn_lease set admin_id = null, lease_until = null where name = ${task} and admin_id = ${adminId}::uuid and epoch = ${epoch}::bigint`,
      );
    },
  };
}
