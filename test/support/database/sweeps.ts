/** Sweeps of an admin, with the retention of the defaults. */
import type { Pool } from 'pg';
import { v7 } from 'uuid';
import { sql, type Sql } from '../../../persistence/reads/sql.ts';
import type { PrunedKind } from '../../../supervisors/sweep-port.ts';
import { DATABASE_NOW } from '../../../persistence/sweeps/timestamps.ts';
import { createSweeps, type Sweeps } from '../../../persistence/sweeps/sweeps.ts';

/** By the clock of the database, or at this time, or by what a piece of SQL says: that is when the machine agrees. */
export function sweepsOf(
  pool: Pool,
  {
    nowMs,
    now = nowMs === undefined ? DATABASE_NOW : at(nowMs),
    adminId = v7(),
  }: { readonly nowMs?: number; readonly now?: Sql; readonly adminId?: string } = {},
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
  return createSweeps(pool, retention, () => now, now);
}

/** This instant as a piece of SQL. */
export function at(ms: number): Sql {
  return sql`${new Date(ms)}::timestamptz`;
}

/** One batch of everything that is kept no longer, as the sweeper takes it: how much of each. */
export async function pruned({ prunings }: Sweeps, limit?: number): Promise<Record<PrunedKind, number>> {
  const counts: [string, number][] = [];
  for (const [kind, prune] of Object.entries(prunings)) counts.push([kind, (await prune(limit)).count]);
  return Object.fromEntries(counts) as Record<PrunedKind, number>;
}
