/**
 * Hot changes: steps that wait together are stored in one transaction, so that hundreds of actors share one fsync.
 */
import { setTimeout as setTimer } from 'node:timers';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Lease } from '../../actors/behaviour.ts';
import { ASK_MS_MAX } from '../../actors/limits.ts';
import { STALE_EPOCH } from '../../actors/refusal.ts';
import type { RefusedChange } from '../../supervisors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { CommitWitnesses } from '../incarnations/commit-witnesses.ts';
import { isConflict } from '../connections/availability.ts';
import { inOneRoundTrip, inTransaction } from '../connections/transaction.ts';
import { beginOf, beginWith } from './batch-begin.ts';
import { inDoubt } from './chunks.ts';
import type { CommitNews } from './commit-news.ts';
import { statementsAtOnce, storeBatch, type BatchPorts, type HotChange, type Unit } from './hot-batch.ts';
import { BATCH_TIMEOUTS, Isolation, type Timeouts } from './isolation.ts';
import type { Outage } from './outage.ts';
import { isRefused, type Client } from './statement.ts';
import { BATCH_BYTES_MAX, changesOf, countOfBatch, inTransactions, type Waiting } from './units.ts';

/** A batch of so many units says that the system is busy. */
const BUSY_UNITS_MIN = 8;

/**
 * So many waiting units are stored at once; for fewer a busy committer waits GATHER_MS, in ms. Source: design, group
 * commit gathers for at most 5 ms; measured with `bench sustained`.
 */
const WORTHWHILE_UNITS = 64;
const GATHER_MS = 2;

/** So many changes are, of however few units: a webhook has a dozen tries in one. */
const WORTHWHILE_CHANGES = 128;

/**
 * Tries of deliveries and statuses of nodes wait longer for each other, in ms: nobody waits for one, and a statement
 * for a hundred costs a third of what ones for twenty do (measured). Anything else ends the wait.
 */
const PATIENT_GATHER_MS = 8;

/**
 * How often changes are stored again that met another transaction: a deadlock or a serialization failure says that
 * nothing of them was kept.
 */
export const CONFLICTS_MAX = 3;

const STORING = 'storing a batch';

/**
 * A batch that sends more goes step by step, in bytes as estimated: its round trips are little beside its work, and
 * what does not fit into the buffers of a connection would be sent bit by bit, by an admin that may stand still
 * meanwhile.
 */
export const SERIES_BYTES_MAX = 131_072;

const NOTHING_REFUSED: ReadonlyMap<Unit, readonly RefusedChange[]> = new Map();

/** Where hot changes are stored, and who hears of it. */
export interface HotCommitPorts extends BatchPorts {
  readonly pool: Pool;
  readonly witnesses: CommitWitnesses;
  readonly outage: Outage;
  readonly news: CommitNews;
  readonly log: Log;
}

/** Nothing waits at first. */
export class HotCommits {
  readonly #ports: HotCommitPorts;
  readonly #isolation: Isolation;
  #queue: Waiting[] = [];
  /** Changes in it. */
  #queuedChanges = 0;
  #running: Promise<void> | null = null;
  /** Ends the wait for more. */
  #hurry: (() => void) | null = null;

  constructor(ports: HotCommitPorts) {
    this.#ports = ports;
    this.#isolation = new Isolation({
      store: (waiting, timeouts, untilMs) => this.#store(waiting, timeouts, untilMs),
      isAway: (error) => ports.outage.isSaidBy(error),
      wentAway: (error, waiting) => this.#wentAway(error, waiting),
      awayError: () => ports.outage.error(),
      unstorable: (error) => ports.log.error({ error }, 'a change could not be stored'),
      monotonicMs: () => performance.now(),
    });
  }

  /** Steps of actors that wait to be stored, without those that are being stored. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Resolves when they are durable, with those that were refused. What is more than a batch is stored bit by bit, and
   * nothing more of it once its lease was stale.
   */
  async commit(lease: Lease | null, changes: readonly HotChange[]): Promise<readonly RefusedChange[]> {
    const refused: RefusedChange[] = [];
    for (const [index, part] of inTransactions(changes).entries())
      try {
        const isStale = refused.some(({ refusal }) => refusal === STALE_EPOCH);
        refused.push(
          ...(isStale ? stale(part.changes) : await this.#commit({ lease, changes: part.changes }, part.bytes)),
        );
      } catch (error) {
        throw index > 0 ? inDoubt(error) : error;
      }
    return refused;
  }

  #commit(unit: Unit, bytes: number): Promise<readonly RefusedChange[]> {
    const { changes } = unit;
    return new Promise((resolve, reject) => {
      const waiting = { unit, bytes, arrivedMs: performance.now(), resolve, reject };
      if (bytes > BATCH_BYTES_MAX) return this.#isolation.beside(waiting);
      if (this.#isolation.isSuspect(unit)) return this.#isolation.alone(waiting);
      this.#queue.push(waiting);
      this.#queuedChanges += changes.length;
      if (!isPatient(changes) || this.#queuedChanges >= WORTHWHILE_CHANGES) this.#hurry?.();
      // What arrives in this turn of the event loop travels together; while a batch is stored, the next one gathers.
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits to be stored. */
  async drained(): Promise<void> {
    await this.#running;
    await this.#isolation.settled();
  }

  /** Resolves when everything that waits now is stored or refused. Rejects with DatabaseUnavailable. */
  async caughtUp(): Promise<void> {
    await this.commit(null, []); // batches are stored one after another
    await this.#isolation.settled();
  }

  async #run(): Promise<void> {
    await setImmediate();
    while (this.#queue.length > 0) {
      const away = this.#ports.outage.error();
      if (away !== null) {
        // While the database is away nobody waits for a timeout of their own (L3).
        this.#queuedChanges = 0;
        for (const one of this.#queue.splice(0)) one.reject(away);
        continue;
      }
      const taken = this.#take();
      await this.#storeOrIsolate(taken);
      // Under load a small batch is not worth a commit of its own: a moment later it is a larger one. Whoever someone
      // waits for never waits on an idle system.
      if (this.#queue.length < WORTHWHILE_UNITS && this.#queuedChanges < WORTHWHILE_CHANGES) await this.#gather(taken);
    }
    this.#running = null;
  }

  #take(): readonly Waiting[] {
    const count = countOfBatch(this.#queue);
    const taken = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    for (const { unit } of taken) this.#queuedChanges -= unit.changes.length;
    return taken;
  }

  async #gather(taken: readonly Waiting[]): Promise<void> {
    const allPatient = [...taken, ...this.#queue].every(({ unit }) => isPatient(unit.changes));
    if (!allPatient) return taken.length >= BUSY_UNITS_MIN ? delay(GATHER_MS) : undefined;
    await new Promise<void>((resolve) => {
      const timer = setTimer(resolve, PATIENT_GATHER_MS);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#hurry = null;
  }

  async #storeOrIsolate(waiting: readonly Waiting[]): Promise<void> {
    try {
      await this.#store(waiting, BATCH_TIMEOUTS, performance.now() + ASK_MS_MAX);
    } catch (error) {
      if (await this.#ports.outage.isSaidBy(error)) this.#wentAway(error, waiting);
      else this.#isolation.takeApart(waiting, error);
    }
  }

  /**
   * Stores them, tells of them and resolves them; again where another transaction stood in the way. Rejects when
   * nothing of it was stored, as when it takes longer than `untilMs`.
   */
  async #store(waiting: readonly Waiting[], timeouts: Timeouts, untilMs: number, conflicts = 0): Promise<void> {
    const { news } = this.#ports;
    const beganMs = performance.now();
    try {
      const outcome = await this.#stored(waiting, timeouts, untilMs);
      news.tell(changesOf(waiting), [...outcome.values()].flat(), beganMs);
      for (const one of waiting) one.resolve(outcome.get(one.unit) ?? []);
    } catch (error) {
      news.counters.failed += 1;
      if (!isConflict(error) || conflicts >= CONFLICTS_MAX) throw error;
      await this.#store(waiting, timeouts, untilMs, conflicts + 1);
    }
  }

  /** At once, as nothing is refused of most; what is large or refused step by step. Resolves with what was refused. */
  async #stored(
    waiting: readonly Waiting[],
    timeouts: Timeouts,
    untilMs: number,
  ): Promise<ReadonlyMap<Unit, readonly RefusedChange[]>> {
    const units = waiting.map((one) => one.unit);
    const bytes = waiting.reduce((sum, one) => sum + one.bytes, 0);
    const { pool, witnesses } = this.#ports;
    if (bytes <= SERIES_BYTES_MAX) {
      try {
        const statements = [...beginOf(timeouts), ...(await statementsAtOnce(this.#ports, units))];
        await inOneRoundTrip(pool, STORING, statements, witnesses);
        return NOTHING_REFUSED;
      } catch (error) {
        if (!isRefused(error)) throw error;
      }
    }
    const work = (client: Client): Promise<ReadonlyMap<Unit, readonly RefusedChange[]>> =>
      storeBatch(client, this.#ports, units, untilMs);
    return inTransaction(pool, STORING, work, beginWith(timeouts), witnesses);
  }

  #wentAway(error: unknown, waiting: readonly Waiting[]): void {
    this.#ports.outage.began(error, changesOf(waiting));
    for (const one of waiting) one.reject(error);
  }
}

function stale(changes: readonly HotChange[]): readonly RefusedChange[] {
  return changes.map((change) => ({ change, refusal: STALE_EPOCH }));
}

/** What nobody waits for: an agent is welcomed before its status is stored. */
const PATIENT: ReadonlySet<HotChange['write']['kind']> = new Set([
  'delivery-made',
  'delivery-attempted',
  'node-status',
]);

/** Whether nobody waits for any of these. */
function isPatient(changes: readonly HotChange[]): boolean {
  return changes.every(({ write: { kind } }) => PATIENT.has(kind));
}
