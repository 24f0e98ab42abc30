/**
 * Everything that time does to rows: expiry, orphans, retention. When to sweep, and whom to tell, is for the caller.
 */
import type { Pool } from 'pg';
import type { Pruned, PrunedKind } from '../../supervisors/sweep-port.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import type { WakeUpOptions } from '../committer/wake-ups.ts';
import { DATABASE_NOW, before } from './timestamps.ts';
import { dropOldest, keepAhead, PARTITIONS_OF_RETENTION } from '../event-partitions/upkeep.ts';
import type { Sql } from '../reads/sql.ts';
import {
  pruneCommands,
  pruneDeliveries,
  pruneEvents,
  pruneExecutions,
  pruneIdempotencyRecords,
  pruneOrphanDeliveries,
  pruneOutputParts,
  prunePublicEnrollmentKeys,
  pruneRecordings,
  pruneReleaseFiles,
  pruneSelfUpdates,
} from './pruned.ts';
import { pruneConsoleSessions, type SessionAges } from './console-sessions.ts';
import { dropOf, dropOrphans, expireDue, type EndedBatch } from './ended.ts';

/** Rows in one transaction of a sweep: some 50 ms of work, so that it holds no lock for long. */
export const SWEEP_ROWS_MAX = 1_000;

const DAY_MS = 86_400_000;

/** How long what is over is kept, in days; and when a session of the console is over, which is not kept. */
export interface Retention {
  /** EXECUTION_RETENTION_DAYS */
  readonly executionDays: number;
  /** EVENT_RETENTION_DAYS */
  readonly eventDays: number;
  /** WEBHOOK_DELIVERY_RETENTION_DAYS */
  readonly deliveryDays: number;
  /** SSH_RECORDING_RETENTION_DAYS */
  readonly recordingDays: number;
  readonly consoleSessions: SessionAges;
}

/** Who sweeps, and what is kept. */
export interface SweepOptions extends Retention, WakeUpOptions {}

export interface Sweeps {
  /** Ends executions past their expiry, at most `limit` in one transaction. */
  expireDue(limit?: number): Promise<EndedBatch>;
  /** Ends executions whose node is gone. */
  dropOrphans(limit?: number): Promise<EndedBatch>;
  /** Ends executions of this node if it is gone: the first look for those of a node that was just deleted. */
  dropOf(node: NodeId, limit?: number): Promise<EndedBatch>;
  /** Each deletes one batch of something that has been kept long enough, at most `limit`. */
  readonly prunings: Readonly<Record<PrunedKind, (limit?: number) => Promise<Pruned>>>;
}

/**
 * Sweeps over this pool. Several admins may sweep at once: each takes rows that no other holds. Every cutoff is taken
 * from the database's clock inside the statement (O2). `agreed`: by which instant something has been kept for long
 * enough, null in SQL where nothing has. Another `now` than the database's is for tests.
 */
export function createSweeps(
  pool: Pool,
  { adminId, hasPeers, executionDays, eventDays, deliveryDays, recordingDays, consoleSessions }: SweepOptions,
  agreed: () => Sql,
  now = DATABASE_NOW,
): Sweeps {
  const keptFrom = (days: number): Sql => before(agreed(), days * DAY_MS);
  return {
    expireDue: (limit = SWEEP_ROWS_MAX) => expireDue(pool, now, { adminId, hasPeers }, limit),
    dropOrphans: (limit = SWEEP_ROWS_MAX) => dropOrphans(pool, now, limit),
    dropOf: (node, limit = SWEEP_ROWS_MAX) => dropOf(pool, now, node, limit),
    prunings: {
      executions: (limit = SWEEP_ROWS_MAX) => pruneExecutions(pool, now, keptFrom(executionDays), limit),
      commands: (limit = SWEEP_ROWS_MAX) => pruneCommands(pool, keptFrom(executionDays), limit),
      events: (limit = SWEEP_ROWS_MAX) => pruneOldEvents(pool, now, keptFrom, eventDays, limit),
      idempotencyRecords: counted((limit) => pruneIdempotencyRecords(pool, agreed(), limit)),
      outputParts: counted((limit) => pruneOutputParts(pool, limit)),
      deliveries: counted((limit) => pruneDeliveries(pool, keptFrom(deliveryDays), limit)),
      orphanDeliveries: counted((limit) => pruneOrphanDeliveries(pool, limit)),
      releaseFiles: counted(() => pruneReleaseFiles(pool, agreed())),
      publicKeys: counted((limit) => prunePublicEnrollmentKeys(pool, agreed(), limit)),
      consoleSessions: counted((limit) => pruneConsoleSessions(pool, agreed(), consoleSessions, limit)),
      selfUpdateNodes: counted((limit) => pruneSelfUpdates(pool, keptFrom(executionDays), limit)),
      recordings: (limit = SWEEP_ROWS_MAX) => pruneRecordings(pool, keptFrom(recordingDays), limit),
    },
  };
}

/**
 * Partitions first: what they take is not deleted row by row. A row whose partition still holds newer ones is left to
 * it for as long as two of them last. What cannot be made ahead holds up nothing that is to go.
 */
async function pruneOldEvents(
  pool: Pool,
  now: Sql,
  keptFrom: (days: number) => Sql,
  days: number,
  limit: number,
): Promise<Pruned> {
  if (await dropOldest(pool, keptFrom(days))) return { count: 0, isFull: true, notices: [] };
  const count = await pruneEvents(pool, now, keptFrom(days * (1 + 2 / PARTITIONS_OF_RETENTION)), limit);
  if (count < limit) await keepAhead(pool, days);
  return { count, isFull: count >= limit, notices: [] };
}

/** As many as the limit: there may be more. */
function counted(prune: (limit: number) => Promise<number>) {
  return async (limit = SWEEP_ROWS_MAX): Promise<Pruned> => {
    const count = await prune(limit);
    return { count, isFull: count >= limit, notices: [] };
  };
}
