/** Everything that the sweeper asks of the rows, by the settings of this admin. */
import type { Pool } from 'pg';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import type { WakeUpOptions } from '../committer/wake-ups.ts';
import type { SessionAges } from './console-sessions.ts';
import { forgetGoneAdmins, pruneAdminNames } from './gone-admins.ts';
import { createForgottenLooks } from './forgotten.ts';
import { markOwnerless } from './ownerless.ts';
import { AGENTS_BACK_MS_MAX, findGone } from './random-nodes.ts';
import { createSweeps, SWEEP_ROWS_MAX } from './sweeps.ts';
import { agreedNow } from './timestamps.ts';
import { asUnavailable } from '../connections/availability.ts';

/** How long rows are kept, and after which silence something is gone, under the names of the settings. */
export interface SweepSettings {
  readonly EXECUTION_RETENTION_DAYS: number;
  readonly EVENT_RETENTION_DAYS: number;
  readonly WEBHOOK_DELIVERY_RETENTION_DAYS: number;
  readonly SSH_RECORDING_RETENTION_DAYS: number;
  readonly NODE_UNREACHABLE_AFTER_MS: number;
  /** 0: nodes with random ids are kept. */
  readonly RANDOM_NODE_FORGET_AFTER_MS: number;
  readonly ADMIN_FORGET_AFTER_MS: number;
  /** Of this admin, which does not forget itself. */
  readonly ADMIN_NAME: string;
}

/** What is known in this admin and in no row. */
export interface SweepInputs {
  readonly ownership: {
    /** Clusters that it has owned for at least so long, in ms. */
    heldFor(ms: number): readonly ClusterId[];
    /** For how long it has watched leases without a gap, in ms. */
    watchedMs(): number;
  };
  /** Nodes heard since the last call, each with the time. */
  readonly heard: () => readonly { readonly node: NodeId; readonly atMs: number }[];
  /** When a session of the console is over. */
  readonly consoleSessions: SessionAges;
}

/**
 * The sweeps of this admin. Each call is one bounded transaction, and rejects with DatabaseUnavailable. `ownMs`: the
 * time by the clock of its machine.
 */
export function createSweepRows(
  pool: Pool,
  { adminId, hasPeers }: WakeUpOptions,
  settings: SweepSettings,
  { ownership, heard, consoleSessions }: SweepInputs,
  ownMs: () => number,
) {
  const agreed = () => agreedNow(ownMs());
  const goneAfterMs = settings.RANDOM_NODE_FORGET_AFTER_MS;
  const options = {
    adminId,
    hasPeers,
    executionDays: settings.EXECUTION_RETENTION_DAYS,
    eventDays: settings.EVENT_RETENTION_DAYS,
    deliveryDays: settings.WEBHOOK_DELIVERY_RETENTION_DAYS,
    recordingDays: settings.SSH_RECORDING_RETENTION_DAYS,
    consoleSessions,
  };
  const sweeps = createSweeps(pool, options, agreed);
  return {
    ...sweeps,
    batchRows: SWEEP_ROWS_MAX,
    findGone: async (limit: number): Promise<readonly NodeId[]> =>
      goneAfterMs === 0
        ? []
        : findGone(pool, agreed(), ownership.heldFor(Math.min(goneAfterMs, AGENTS_BACK_MS_MAX)), goneAfterMs, limit),
    storePresence: () => storePresence(pool, heard()),
    findForgotten: createForgottenLooks(pool, adminId, SWEEP_ROWS_MAX),
    markOwnerless: () =>
      markOwnerless(
        pool,
        { unreachableAfterMs: settings.NODE_UNREACHABLE_AFTER_MS, watchedMs: ownership.watchedMs() },
        SWEEP_ROWS_MAX,
      ),
    forgetAdmins: () => forgetGoneAdmins(pool, agreed(), settings.ADMIN_NAME, settings.ADMIN_FORGET_AFTER_MS),
    forgetNames: () => pruneAdminNames(pool, agreed()),
  };
}

/** Stores the times. Best effort: a lost round is made good by the next. */
export async function storePresence(
  pool: Pool,
  heard: readonly { readonly node: string; readonly atMs: number }[],
): Promise<void> {
  if (heard.length === 0) return;
  try {
    await pool.query({
      name: 'store-presence',
      // Rows that another transaction holds are left out: waiting for them, while holding others, would be a deadlock
      // with a batch of status changes.
      text: `with free as materialized (select id from node where id = any($1::uuid[]) for no key update skip locked)
        update node n set last_seen_at = greatest(n.last_seen_at, to_timestamp(v.at / 1000.0)) from unnest($1::uuid[], $2::float8[]) as v(id, at), free where n.id = v.id and n.id = free.id`,
      values: [heard.map((one) => one.node), heard.map((one) => one.atMs)],
    });
  } catch (error) {
    throw asUnavailable(error, 'storing when nodes were last heard');
  }
}
