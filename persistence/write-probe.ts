/** Whether the database takes writes: one whose disk is full, or that follows another one, still answers every question. */
import type { Pool } from 'pg';
import { asUnavailable, isLost } from './availability.ts';

/** Between two writes the last answer holds, in ms: health is asked by strangers, and each write costs the disk a flush. */
export const WRITE_EVERY_MS_MIN = 1_000;

/** SQLSTATE of a role that may make no temporary tables. Source: PostgreSQL, appendix A. */
const NO_PRIVILEGE = '42501';

/** Asks by writing. */
export interface WriteProbe {
  /** Whether a write was taken. Rejects with DatabaseUnavailable when the database does not answer. */
  write(): Promise<boolean>;
}

/**
 * One write: a table of its own that ends with its transaction. An update of a row would find room in a page that is there already, on a
 * full disk too; a new table needs new pages, and its entry in the catalogue has to reach the log on the disk. A role without the right to
 * make temporary tables passes: of it nothing more is known than that the database answers.
 */
export async function takesWrites(pool: Pool): Promise<boolean> {
  try {
    await pool.query('create temporary table edge_write_probe on commit drop as select 1 as written');
    return true;
  } catch (error) {
    if (isLost(error)) throw asUnavailable(error, 'writing to see whether it takes writes');
    return (error as { code?: unknown }).code === NO_PRIVILEGE;
  }
}

/** Writes at most once in WRITE_EVERY_MS_MIN, however often it is asked. */
export function createWriteProbe(pool: Pool, monotonicMs: () => number): WriteProbe {
  let last: { readonly startedMs: number; readonly outcome: Promise<boolean> } | null = null;
  return {
    write() {
      if (last !== null && monotonicMs() - last.startedMs < WRITE_EVERY_MS_MIN) return last.outcome;
      const outcome = takesWrites(pool);
      last = { startedMs: monotonicMs(), outcome };
      return outcome;
    },
  };
}
