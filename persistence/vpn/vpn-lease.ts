/** The right to reconcile networks, which one admin has at a time, by the database's clock. */
import type { Pool } from 'pg';
import type { ReconcilerLease } from '../../actors/vpn/rows.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** How long it is held without renewal, in ms: an admin that was killed is followed after this. */
export const VPN_LEASE_MS = 30_000;

const UNTIL = sql`clock_timestamp() + ${VPN_LEASE_MS}::int * interval '1 ms'`;

/** Its name among the rows. */
const LEASE = 'reconciler';

/** For the admin of this id. Every call rejects with DatabaseUnavailable when the database is away. */
export class VpnLease implements ReconcilerLease {
  readonly #pool: Pool;
  readonly #adminId: string;

  constructor(pool: Pool, adminId: string) {
    this.#pool = pool;
    this.#adminId = adminId;
  }

  async claim(): Promise<number | null> {
    const [row] = await rowsOf<{ epoch: string }>(
      this.#pool,
      'claiming the networks',
      sql`
          insert into vpn_lease as l (name, admin_id, epoch, lease_until) values (${LEASE}, ${this.#adminId}::uuid, 1, ${UNTIL})
          on conflict (name) do update set admin_id = excluded.admin_id, epoch = l.epoch + 1, lease_until = excluded.lease_until
            where l.admin_id is null or l.admin_id = excluded.admin_id or l.lease_until < clock_timestamp()
          returning epoch::text as epoch`,
    );
    return row === undefined ? null : Number(row.epoch);
  }

  async renew(epoch: number): Promise<boolean> {
    const rows = await rowsOf(
      this.#pool,
      'renewing the claim to the networks',
      sql`update vpn_lease set lease_until = ${UNTIL} where name = ${LEASE} and admin_id = ${this.#adminId}::uuid and epoch = ${epoch}::bigint returning 1`,
    );
    return rows.length === 1;
  }

  async release(epoch: number): Promise<void> {
    await rowsOf(
      this.#pool,
      'releasing the networks',
      sql`update vpn_lease set admin_id = null, lease_until = null where name = ${LEASE} and admin_id = ${this.#adminId}::uuid and epoch = ${epoch}::bigint`,
    );
  }
}
