/** Sweeps of an admin, with the retention of the defaults. */
import type { Pool } from 'pg';
import { v7 } from 'uuid';
import { sql } from '../../persistence/reads/sql.ts';
import { createSweeps, type Sweeps } from '../../persistence/sweeps/sweeps.ts';

/** By the clock of the database, or at this time. */
export function sweepsOf(
  pool: Pool,
  { nowMs, adminId = v7() }: { readonly nowMs?: number; readonly adminId?: string } = {},
): Sweeps {
  const retention = {
    adminId,
    hasPeers: () => true,
    executionDays: 30,
    eventDays: 7,
    deliveryDays: 7,
    recordingDays: 30,
    consoleSessions: { idleMsMax: 1_800_000, ageMsMax: 43_200_000 },
  };
  return nowMs === undefined
    ? createSweeps(pool, retention)
    : createSweeps(pool, retention, sql`${new Date(nowMs)}::timestamptz`);
}
