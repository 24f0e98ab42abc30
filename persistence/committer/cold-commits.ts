/** Cold changes: a transaction each, as many at once as MikroORM has connections, the others in turn. */
import type { Lease } from '../../actors/behaviour.ts';
import { ASK_MS_MAX } from '../../actors/limits.ts';
import { NothingWritten } from '../../actors/ports.ts';
import type { Change } from '../../actors/step.ts';
import type { RefusedChange } from '../../supervisors/ports.ts';
import { isConflict } from '../availability.ts';
import { ORM_CONNECTIONS_MAX } from '../database.ts';
import { createSemaphore } from '../semaphore.ts';
import { deleteExecutions } from './chunks.ts';
import { storeCold, type ColdOutcome, type ColdPorts } from './cold-writes.ts';
import type { CommitNews } from './commit-news.ts';
import { CONFLICTS_MAX } from './hot-commits.ts';
import type { Outage } from './outage.ts';

/** Cold changes that wait for a connection. Each is one of an actor that waits for nothing else. */
export const COLD_WAITING_MAX = 1_000;

/** Where cold changes are stored, and who hears of it. */
export interface ColdCommitPorts extends ColdPorts {
  readonly outage: Outage;
  readonly news: CommitNews;
}

/** None under way at first. */
export class ColdCommits {
  readonly #ports: ColdCommitPorts;
  /**
   * They wait here and not at the pool: there, a wait behind others looks like a database that is away (L4).
   */
  readonly #semaphore = createSemaphore('storing a change', ORM_CONNECTIONS_MAX, COLD_WAITING_MAX);

  constructor(ports: ColdCommitPorts) {
    this.#ports = ports;
  }

  /** Stores one after another. Resolves with those that were refused. */
  async commit(lease: Lease | null, changes: readonly Change[]): Promise<readonly RefusedChange[]> {
    const { outage, database } = this.#ports;
    const refused: RefusedChange[] = [];
    for (const change of changes) {
      try {
        this.#throwIfAway();
        if (change.write.kind === 'command-deleted') await deleteExecutions(database.writes, change.write.command);
        const queuedMs = performance.now();
        refused.push(...(await this.#semaphore(() => this.#storeInTime(lease, change, queuedMs))));
      } catch (error) {
        if (await outage.isSaidBy(error)) outage.began(error, error instanceof NothingWritten ? [] : [change]);
        throw error;
      }
    }
    return refused;
  }

  /** Its turn has come. Nobody waits any more for what is late: no time of others is spent on it. */
  async #storeInTime(lease: Lease | null, change: Change, queuedMs: number): Promise<readonly RefusedChange[]> {
    this.#throwIfAway();
    const beganMs = performance.now();
    if (beganMs - queuedMs > ASK_MS_MAX) throw new NothingWritten('Too many changes wait to be stored.');
    const outcome = await this.#storeUnhindered(lease, change);
    const refused = outcome.refusal === null ? [] : [{ change, refusal: outcome.refusal }];
    this.#ports.news.tell([change], refused, beganMs, outcome.notices);
    return refused;
  }

  /**
   * Another transaction that stood in the way (two nodes that change places) let nothing of this one be stored: it is
   * tried again.
   */
  async #storeUnhindered(lease: Lease | null, change: Change, conflicts = 0): Promise<ColdOutcome> {
    try {
      return await storeCold(this.#ports, lease, change);
    } catch (error) {
      if (isConflict(error) && conflicts < CONFLICTS_MAX) return this.#storeUnhindered(lease, change, conflicts + 1);
      throw error;
    }
  }

  #throwIfAway(): void {
    const away = this.#ports.outage.error();
    if (away !== null) throw away;
  }
}
