/**
 * The database's clock, as this admin knows it: what every decision and every stored time goes by, whatever the clock
 * of this machine says (O2).
 */
import type { Pool } from 'pg';
import type { Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import { DatabaseUnavailable } from '../actors/ports.ts';
import { rowsOf, sql } from './reads/sql.ts';

/** How often the database is asked for its time, in ms: a machine that was suspended knows it again within this. */
const ASK_EVERY_MS = 1_000;

/**
 * An admin whose own clock differs from the database's by more than this says so in its health, and prunes nothing, in
 * ms. Source: invariants, O2.
 */
export const SKEW_MS_MAX = 5_000;

/** The running clock. */
export interface DatabaseClock extends Clock {
  /** How far the clock of this machine is ahead of the database's, in ms; negative: behind. */
  skewMs(): number;
  /** Whether that is more than SKEW_MS_MAX: one of the two is wrong, and nobody knows which. */
  isSkewed(): boolean;
  /** Resolves when no question is under way any more. */
  stop(): Promise<void>;
}

/** What it runs on: this machine's own clock, and one that never jumps. */
interface LocalTime {
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/**
 * Asks the database for its time, and then each second. In between the time goes on by the monotonic clock, so that a
 * machine whose clock is set notices nothing. Rejects with DatabaseUnavailable when the first question is not answered;
 * later ones are asked again.
 */
export async function startDatabaseClock(pool: Pool, { clock, monotonicMs, log }: LocalTime): Promise<DatabaseClock> {
  let offsetMs: number | null = null;
  let wasSkewed = false;
  let stopped = false;
  let asking: Promise<void> = Promise.resolve();
  let cancel: () => void = () => undefined;

  /**
   * The answer was written between the question and its arrival: the offset moves no further than that demands, so that
   * it does not jitter.
   */
  async function ask(): Promise<void> {
    const askedMs = monotonicMs();
    const [row] = await rowsOf<{ ms: number }>(
      pool,
      'asking for the time',
      sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    );
    if (row === undefined) throw new Error('A statement without a condition gave no row.');
    const [least, most] = [row.ms - monotonicMs(), row.ms - askedMs];
    offsetMs = offsetMs === null ? (least + most) / 2 : Math.min(most, Math.max(least, offsetMs));
    tell();
  }

  const nowMs = (): number => Math.round(monotonicMs() + (offsetMs ?? 0));
  const skewMs = (): number => clock.nowMs() - nowMs();
  const isSkewed = (): boolean => Math.abs(skewMs()) > SKEW_MS_MAX;

  function tell(): void {
    const now = isSkewed();
    if (now !== wasSkewed)
      log.warn(
        { skew_ms: skewMs() },
        now
          ? 'the clock of this machine differs from the database: nothing is pruned'
          : 'the clock of this machine agrees with the database again',
      );
    wasSkewed = now;
  }

  function schedule(): void {
    if (stopped) return;
    cancel = clock.after(ASK_EVERY_MS, () => {
      asking = ask()
        .catch((error: unknown) => {
          if (!(error instanceof DatabaseUnavailable)) log.error({ error }, 'the database does not tell its time');
        })
        .then(schedule);
    });
  }

  await ask();
  schedule();
  return {
    nowMs,
    skewMs,
    isSkewed,
    after: (ms, run) => clock.after(ms, run),
    stop: async () => {
      stopped = true;
      cancel();
      await asking;
    },
  };
}
