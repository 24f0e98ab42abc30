/** Cold changes: a transaction each, as many at once as MikroORM has connections, the others in turn. */
import type { Lease } from '../../actors/behaviour.ts';
import { ASK_MS_MAX } from '../../actors/limits.ts';
import { NothingWritten } from '../../actors/ports.ts';
import type { Change } from '../../actors/step.ts';
import type { RefusedChange } from '../../supervisors/ports.ts';
import { isConflict } from '../connections/availability.ts';
import { ORM_CONNECTIONS_MAX } from '../connections/database.ts';
import { createSemaphore } from '../connections/semaphore.ts';
import { inDoubt, type Chunks } from './chunks.ts';
import { storeCold, type ColdOutcome, type ColdPorts } from './cold-writes.ts';
import type { CommitNews } from './commit-news.ts';
import { CONFLICTS_MAX } from './hot-commits.ts';
import type { Outage } from './outage.ts';

/** Cold changes of callers that wait for a connection. Each is one of an actor that waits for nothing else. */
export const COLD_WAITING_MAX = 1_000;

/** Those besides that nobody waits for, what agents tell as they connect above all: more than the nodes of an admin. */
const FACTS_WAITING_MAX = 30_000;

/** Where cold changes are stored, and who hears of it. */
export interface ColdCommitPorts extends ColdPorts {
  readonly chunks: Chunks;
  readonly outage: Outage;
  readonly news: CommitNews;
}

/** None under way at first. */
export class ColdCommits {
  readonly #ports: ColdCommitPorts;
  /**
   * They wait here and not at the pool: there, a wait behind others looks like a database that is away (L4).
   */
  readonly #turn = createSemaphore('storing a change', ORM_CONNECTIONS_MAX, COLD_WAITING_MAX);
  /** Where facts wait before that, so that a caller is behind as many of them as are stored at once. */
  readonly #factTurn = createSemaphore('storing what is so', ORM_CONNECTIONS_MAX, FACTS_WAITING_MAX);

  constructor(ports: ColdCommitPorts) {
    this.#ports = ports;
  }

  /** Stores one after another. Resolves with those that were refused. What nobody waits for has time. */
  async commit(lease: Lease | null, changes: readonly Change[], isAwaited: boolean): Promise<readonly RefusedChange[]> {
    const { outage, chunks } = this.#ports;
    const refused: RefusedChange[] = [];
    for (const change of changes) {
      let isBegun = false;
      try {
        this.#throwIfAway();
        if (change.write.kind === 'command-deleted') isBegun = await chunks.deleteExecutions(change.write.command);
        const untilMs = isAwaited ? performance.now() + ASK_MS_MAX : Infinity;
        const store = (): Promise<readonly RefusedChange[]> =>
          this.#turn(() => this.#storeInTime(lease, change, untilMs));
        refused.push(...(await (isAwaited ? store() : this.#factTurn(store))));
      } catch (error) {
        if (await outage.isSaidBy(error)) outage.began(error, error instanceof NothingWritten ? [] : [change]);
        throw isBegun ? inDoubt(error) : error;
      }
    }
    return refused;
  }

  /** Its turn has come. Nobody waits any more for what is late: no time of others is spent on it. */
  async #storeInTime(lease: Lease | null, change: Change, untilMs: number): Promise<readonly RefusedChange[]> {
    this.#throwIfAway();
    const beganMs = performance.now();
    if (beganMs > untilMs) throw new NothingWritten('Too many changes wait to be stored.');
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
