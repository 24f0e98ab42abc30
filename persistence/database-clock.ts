/**
 * The database's clock, as this admin knows it: what every decision and every stored time goes by, whatever the clock
 * of this machine says (O2).
 */
import type { Pool } from 'pg';
import type { Clock } from '../actors/ports.ts';
import { createBootClock, STOOD_STILL_MS_MIN, SYSTEM_WITNESSES, type LeaseWitnesses } from '../transport/net/clock.ts';
import type { Log } from '../transport/net/log.ts';
import { DatabaseUnavailable } from '../actors/ports.ts';
import { rowsOf, sql } from './reads/sql.ts';

/**
 * How often the database is asked for its time, in ms: a machine that its hypervisor stopped knows it again within
 * this.
 */
const ASK_EVERY_MS = 1_000;

/**
 * An admin whose own clock differs from the database's by more than this says so in its health, and prunes nothing, in
 * ms. Source: invariants, O2.
 */
export const SKEW_MS_MAX = 5_000;

/** What it runs on: this machine's own clock, and what tells how much time passed. */
interface LocalTime {
  readonly clock: Clock;
  /** Left out: those of this machine. */
  readonly witnesses?: LeaseWitnesses;
  readonly log: Log;
}

/**
 * Asks the database for its time, and then each second. In between the time goes on by a clock that runs while the
 * machine is suspended and follows nobody who sets it: neither makes anything expire late or early (O2).
 * What a hypervisor's pause took is not known before the next answer. Where the wall clock was set right after it, that
 * is noticed at once, and `whenKnown` waits.
 */
export class DatabaseClock implements Clock {
  readonly #pool: Pool;
  readonly #local: LocalTime;
  readonly #wallMs: () => number;
  readonly #bootMs: () => number;
  /** What is added to the boot clock. */
  #offsetMs: number | null = null;
  /** How far the wall clock was ahead of the boot clock when the last question was asked that was answered. */
  #aheadMs = 0;
  #unsure: (() => void)[] = [];
  #wasSkewed = false;
  #isStopped = false;
  #isAsking = false;
  #asking: Promise<void> = Promise.resolve();
  #cancel: () => void = () => undefined;

  private constructor(pool: Pool, local: LocalTime) {
    this.#pool = pool;
    this.#local = local;
    const { witnesses = SYSTEM_WITNESSES } = local;
    this.#wallMs = () => witnesses.wallMs();
    this.#bootMs = createBootClock(witnesses);
  }

  /** Rejects with DatabaseUnavailable when the first question is not answered; later ones are asked again. */
  static async start(pool: Pool, local: LocalTime): Promise<DatabaseClock> {
    const clock = new DatabaseClock(pool, local);
    await clock.#ask();
    clock.#schedule();
    return clock;
  }

  nowMs(): number {
    return Math.round(this.#bootMs() + (this.#offsetMs ?? 0));
  }

  after(ms: number, run: () => void): () => void {
    return this.#local.clock.after(ms, run);
  }

  /**
   * Runs now, or, where the wall clock ran ahead since the database was asked, after its next answer: this machine may
   * have stood still, and `nowMs` be behind. One that was set ahead costs that one question.
   */
  whenKnown(run: () => void): void {
    if (!this.#isUnsure()) return run();
    this.#unsure.push(run);
    if (this.#isAsking || this.#isStopped) return;
    this.#cancel();
    this.#askNow();
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
    this.#cancel = this.#local.clock.after(ASK_EVERY_MS, () => this.#askNow());
  }

  #askNow(): void {
    this.#asking = this.#askAgain().then(() => this.#schedule());
  }

  /** Once more at once where what somebody waits for came after the question: it does not know it. */
  async #askAgain(): Promise<void> {
    this.#isAsking = true;
    try {
      do await this.#ask();
      while (this.#unsure.length > 0 && this.#isUnsure() && !this.#isStopped);
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable))
        this.#local.log.error({ error }, 'the database does not tell its time');
    }
    this.#isAsking = false;
    if (this.#isUnsure() || this.#isStopped) return;
    const runs = this.#unsure;
    this.#unsure = [];
    for (const run of runs) run();
  }

  #isUnsure(): boolean {
    return this.#readAheadMs() - this.#aheadMs > STOOD_STILL_MS_MIN;
  }

  /** The boot clock is read last: a pause of the process in between raises no doubt. */
  #readAheadMs(): number {
    const wallMs = this.#wallMs();
    return wallMs - this.#bootMs();
  }

  /**
   * The answer was written between the question and its arrival: the offset moves no further than that demands, so that
   * it does not jitter.
   */
  async #ask(): Promise<void> {
    const aheadMs = this.#readAheadMs();
    const askedMs = this.#bootMs();
    const [row] = await rowsOf<{ ms: number }>(
      this.#pool,
      'asking for the time',
      sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    );
    if (row === undefined) throw new Error('A statement without a condition gave no row.');
    const [least, most] = [row.ms - this.#bootMs(), row.ms - askedMs];
    this.#offsetMs = this.#offsetMs === null ? (least + most) / 2 : Math.min(most, Math.max(least, this.#offsetMs));
    this.#aheadMs = aheadMs;
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
