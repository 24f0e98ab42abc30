/**
 * Commits of this process that were acknowledged last: by them a server that was promoted shows whether it lost any.
 */
import type { Pool } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import { asUnavailable, isUnavailable } from '../connections/availability.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** Timelines of which commits are remembered: the present one, and the one before a promotion. */
const TIMELINES_MAX = 2;

/**
 * Commits of each that are remembered. More than there are connections: of so many, one at least began after all that
 * came before them were acknowledged, so that whoever has it has those.
 */
const WITNESSES_MAX = 512;

/** A commit: its transaction, and a place in the log of its timeline that lies between its writes and its end. */
export interface Witness {
  /** Null: it wrote nothing. */
  readonly xid: string | null;
  readonly lsn: string;
  readonly timeline: string;
}

/** Asked as the last thing in a transaction. */
export const WITNESS = `select pg_current_xact_id_if_assigned()::text as xid, pg_current_wal_insert_lsn()::text as lsn, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline`;

/** What is remembered. Nothing at first, and nothing ever where the database does not say by what a commit is known. */
export class CommitWitnesses {
  #isTold = false;
  /** By timeline, in the order in which they were seen first. */
  readonly #last = new Map<string, Witness[]>();

  /** Whether the database is to be asked for a witness with each commit. */
  get areKept(): boolean {
    return this.#isTold;
  }

  /**
   * Looks whether the database says it: some that are managed refuse to speak of their log, and every commit that asked
   * would fail. Rejects with DatabaseUnavailable.
   */
  async tryIn(pool: Pool, log: Log): Promise<void> {
    try {
      await pool.query(WITNESS);
      this.#isTold = true;
    } catch (error) {
      if (isUnavailable(error)) throw asUnavailable(error, 'looking how a commit is known');
      log.warn(
        { error: (error as Error).message },
        'the database does not say how its commits are known: after a promotion of a standby this admin starts anew',
      );
    }
  }

  /** This one was acknowledged. One that wrote nothing is no witness. */
  add(witness: Witness): void {
    if (witness.xid === null) return;
    const last = this.#last.get(witness.timeline) ?? [];
    this.#last.set(witness.timeline, last);
    last.push(witness);
    if (last.length > WITNESSES_MAX) last.shift();
    const [oldest] = this.#last.keys();
    if (this.#last.size > TIMELINES_MAX && oldest !== undefined) this.#last.delete(oldest);
  }

  /**
   * Whether the server, which was promoted to this timeline and not restarted since, has all of those before it: its
   * log went on behind them, and they are committed in it. False also where it does not tell, or never did. Rejects
   * with DatabaseUnavailable.
   */
  async areIn(pool: Pool, timeline: string): Promise<boolean> {
    if (!this.#isTold) return false;
    const before = [...this.#last].flatMap(([of, last]) => (of === timeline ? [] : last));
    const [row] = await rowsOf<{ all: boolean }>(
      pool,
      'looking whether a promoted server has all commits',
      sql`
      with fork as materialized (select pg_last_wal_replay_lsn() as lsn)
      select fork.lsn is not null and coalesce(bool_and(case when w.lsn > fork.lsn then false else coalesce(pg_xact_status(w.xid) = 'committed', true) end), true) as "all"
      from fork left join unnest(${before.map(({ xid }) => xid)}::xid8[], ${before.map(({ lsn }) => lsn)}::pg_lsn[]) as w(xid, lsn) on true group by fork.lsn`,
    );
    return row?.all === true;
  }
}
