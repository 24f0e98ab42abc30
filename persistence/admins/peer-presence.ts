/**
 * Whether the other admins are heard: each says every few seconds that it is here, by the way by which it says
 * everything else.
 */
import type { Pool } from 'pg';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { tellAdmins } from './admin-messages.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/**
 * How often an admin says that it is here, in ms. A notification takes a lock of the whole database, so not more often
 * than needed.
 */
export const HERE_EVERY_MS = 5_000;

/** An admin that checks in and was not heard for so long is not heard, in ms: three of its words were lost. */
export const UNHEARD_MS_MIN = 15_000;

/** Pause before it is said again when the database was away, in ms. */
const AGAIN_MS = 1_000;

/** Who is heard. */
export interface PeerPresence {
  /** This admin said that it is here; also the own one, whose word comes back by the same way. */
  heard(adminId: string): void;
  /**
   * Admins that check in, this one among them, and those of them that are not heard. Rejects with DatabaseUnavailable.
   */
  unheard(): Promise<{ readonly total: number; readonly unheard: number }>;
  stop(): Promise<void>;
}

/** Begins to say so at once. `monotonicMs` is of this machine. */
export function announcePresence(
  pool: Pool,
  adminId: string,
  { clock, monotonicMs, log }: { readonly clock: Clock; readonly monotonicMs: () => number; readonly log: Log },
): PeerPresence {
  const heardMs = new Map<string, number>();
  /** From when on silence counts: words that were lost with the database are nobody's silence. Null: it is away. */
  let listeningMs: number | null = monotonicMs();
  let cancel = (): void => {};
  let saying: Promise<void> = Promise.resolve();
  let stopped = false;

  async function say(): Promise<void> {
    try {
      await tellAdmins(pool, { type: 'here', from: adminId });
      listeningMs ??= monotonicMs();
    } catch (error) {
      listeningMs = null;
      if (error instanceof DatabaseUnavailable)
        log.debug({}, 'the other admins are not told that this one is here: the database is away');
      else log.warn({ error }, 'the other admins are not told that this one is here');
    }
    if (!stopped)
      cancel = clock.after(listeningMs === null ? AGAIN_MS : HERE_EVERY_MS, () => {
        saying = say();
      });
  }

  saying = say();
  return {
    heard(id) {
      heardMs.set(id, monotonicMs());
    },
    async unheard() {
      const nowMs = monotonicMs();
      const present = await presentAdmins(pool, adminId);
      for (const id of heardMs.keys()) if (!present.includes(id)) heardMs.delete(id);
      const sinceMs = listeningMs ?? nowMs;
      return {
        total: present.length,
        unheard: present.filter((id) => nowMs - Math.max(heardMs.get(id) ?? sinceMs, sinceMs) > UNHEARD_MS_MIN).length,
      };
    },
    async stop() {
      stopped = true;
      cancel();
      await saying;
    },
  };
}

/**
 * Admins of this version that check in and have done so for long enough to have been heard. Another version may not say
 * that it is here.
 */
async function presentAdmins(pool: Pool, adminId: string): Promise<readonly string[]> {
  const rows = await rowsOf<{ id: string }>(
    pool,
    'looking who should be heard',
    sql`
    select a.id from admin a join admin me on me.id = ${adminId}::uuid and me.version = a.version
    where a.last_checked_in > clock_timestamp() - ${HERE_EVERY_MS} * interval '1 ms' and a.started_at < clock_timestamp() - ${UNHEARD_MS_MIN} * interval '1 ms'`,
  );
  return rows.map(({ id }) => id);
}
