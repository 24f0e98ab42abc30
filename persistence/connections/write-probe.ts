/**
 * Whether the database takes writes: one whose disk is full, or that follows another one, still answers every question.
 */
import type { Pool } from 'pg';
import { asUnavailable, isLost } from './availability.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/**
 * Between two writes the last answer holds, in ms: health is asked by strangers, and each write costs the disk a flush.
 */
export const WRITE_EVERY_MS_MIN = 1_000;

/** SQLSTATE of a role that may make no temporary tables. Source: PostgreSQL, appendix A. */
const NO_PRIVILEGE = '42501';

/** Asks by writing. */
export interface WriteProbe {
  /** Whether a write was taken. Rejects with DatabaseUnavailable when the database does not answer. */
  write(): Promise<boolean>;
}

/**
 * One write: a table of its own that ends with its transaction. An update of a row would find room in a page that is
 * there already, on a full disk too; a new table needs new pages, and its entry in the catalogue has to reach the log
 * on the disk. A role without the right to make temporary tables passes: of it nothing more is known than that the
 * database answers.
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

/** One write. */
interface Written {
  readonly startedMs: number;
  readonly outcome: Promise<boolean>;
  isOver: boolean;
}

/**
 * Writes at most once in WRITE_EVERY_MS_MIN, however often it is asked. Between two writes the answer is still one of
 * now: a database that stood still since the last write is asked a question that it has to answer. What it did not
 * answer is not remembered.
 */
export function createWriteProbe(pool: Pool, monotonicMs: () => number): WriteProbe {
  let last: Written | null = null;

  async function begin(): Promise<boolean> {
    const begun: Written = (last = { startedMs: monotonicMs(), outcome: takesWrites(pool), isOver: false });
    try {
      const isTaken = await begun.outcome;
      begun.isOver = true;
      return isTaken;
    } catch (error) {
      if (last === begun) last = null;
      throw error;
    }
  }

  return {
    async write() {
      if (last === null || monotonicMs() - last.startedMs >= WRITE_EVERY_MS_MIN) return await begin();
      const { outcome, isOver } = last;
      if (isOver) await rowsOf(pool, 'seeing whether it answers', sql`select 1`);
      return await outcome;
    },
  };
}
