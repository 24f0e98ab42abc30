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

/** What it runs on: this machine's own clock, and one that never jumps. */
interface LocalTime {
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/**
 * Asks the database for its time, and then each second. In between the time goes on by the monotonic clock, so that a
 * machine whose clock is set notices nothing.
 */
export class DatabaseClock implements Clock {
  readonly #pool: Pool;
  readonly #local: LocalTime;
  /** What is added to the monotonic clock. */
  #offsetMs: number | null = null;
  #wasSkewed = false;
  #isStopped = false;
  #asking: Promise<void> = Promise.resolve();
  #cancel: () => void = () => undefined;

  private constructor(pool: Pool, local: LocalTime) {
    this.#pool = pool;
    this.#local = local;
  }

  /** Rejects with DatabaseUnavailable when the first question is not answered; later ones are asked again. */
  static async start(pool: Pool, local: LocalTime): Promise<DatabaseClock> {
    const clock = new DatabaseClock(pool, local);
    await clock.#ask();
    clock.#schedule();
    return clock;
  }

  nowMs(): number {
    return Math.round(this.#local.monotonicMs() + (this.#offsetMs ?? 0));
  }

  after(ms: number, run: () => void): () => void {
    return this.#local.clock.after(ms, run);
  }

  /** The time by the clock of this machine, by which nothing is decided but whether the database's can be right. */
  ownMs(): number {
    return this.#local.clock.nowMs();
  }

  /** How far the clock of this machine is ahead of the database's, in ms; negative: behind. */
  skewMs(): number {
    return this.ownMs() - this.nowMs();
  }

  /** Whether that is more than SKEW_MS_MAX: one of the two is wrong, and nobody knows which. */
  isSkewed(): boolean {
    return Math.abs(this.skewMs()) > SKEW_MS_MAX;
  }

  /** Resolves when no question is under way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#asking;
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#local.clock.after(ASK_EVERY_MS, () => {
      this.#asking = this.#askAgain().then(() => this.#schedule());
    });
  }

  async #askAgain(): Promise<void> {
    try {
      await this.#ask();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable))
        this.#local.log.error({ error }, 'the database does not tell its time');
    }
  }

  /**
   * The answer was written between the question and its arrival: the offset moves no further than that demands, so that
   * it does not jitter.
   */
  async #ask(): Promise<void> {
    const { monotonicMs } = this.#local;
    const askedMs = monotonicMs();
    const [row] = await rowsOf<{ ms: number }>(
      this.#pool,
      'asking for the time',
      sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    );
    if (row === undefined) throw new Error('A statement without a condition gave no row.');
    const [least, most] = [row.ms - monotonicMs(), row.ms - askedMs];
    this.#offsetMs = this.#offsetMs === null ? (least + most) / 2 : Math.min(most, Math.max(least, this.#offsetMs));
    this.#tell();
  }

  #tell(): void {
    const isSkewed = this.isSkewed();
    if (isSkewed !== this.#wasSkewed)
      this.#local.log.warn(
        { skew_ms: this.skewMs() },
        isSkewed
          ? 'the clock of this machine differs from the database: nothing is pruned'
          : 'the clock of this machine agrees with the database again',
      );
    this.#wasSkewed = isSkewed;
  }
}
