/**
 * The committer: hot changes go with those of other actors, cold ones in a transaction each. Both stop while the
 * database is away.
 */
import type { Lease } from '../../actors/behaviour.ts';
import type { Notice } from '../../actors/notice.ts';
import type { Change } from '../../actors/step.ts';
import { isHot } from '../../actors/writes.ts';
import type { Committer, RefusedChange } from '../../supervisors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { Chunks, inDoubt } from './chunks.ts';
import type { ColdPorts } from './cold-writes.ts';
import { ColdCommits } from './cold-commits.ts';
import { CommitNews, type CommitCounters } from './commit-news.ts';
import type { HotChange } from './hot-batch.ts';
import { HotCommits } from './hot-commits.ts';
import { Outage } from './outage.ts';
import { WakeUps, type WakeUpOptions } from './wake-ups.ts';

/** What a committer writes to, and whom it tells. */
export interface CommitterPorts extends Omit<ColdPorts, 'wakeUps'>, WakeUpOptions {
  readonly log: Log;
  readonly committed: (notices: readonly Notice[]) => void;
}

/**
 * A committer on this database, and what shutdown and metrics ask of it. `committed` hears the notices of each
 * transaction after its commit, in commit order.
 */
export class GroupCommitter implements Committer {
  readonly #chunks: Chunks;
  readonly #outage: Outage;
  readonly #news: CommitNews;
  readonly #hot: HotCommits;
  readonly #cold: ColdCommits;

  constructor(ports: CommitterPorts) {
    const { vault, adminId, log, committed } = ports;
    const { writes: pool } = ports.database;
    this.#chunks = new Chunks(ports.database.pool);
    this.#outage = new Outage({ pool, log, committed });
    this.#news = new CommitNews(committed);
    const shared = { vault, wakeUps: new WakeUps(ports), outage: this.#outage, news: this.#news };
    this.#hot = new HotCommits({ ...shared, pool, witnesses: ports.database.witnesses, log });
    this.#cold = new ColdCommits({ ...shared, database: ports.database, adminId, chunks: this.#chunks });
  }

  get counters(): Readonly<CommitCounters> {
    return this.#news.counters;
  }

  async commit(lease: Lease | null, changes: readonly Change[], isAwaited = true): Promise<readonly RefusedChange[]> {
    const hot = changes.filter((change): change is HotChange => isHot(change.write));
    const refused = hot.length === 0 ? [] : await this.#commitHot(lease, hot);
    if (hot.length === changes.length) return refused;
    const cold = changes.filter((change) => !isHot(change.write));
    return [...refused, ...(await this.#cold.commit(lease, cold, isAwaited))];
  }

  async #commitHot(lease: Lease | null, hot: readonly HotChange[]): Promise<readonly RefusedChange[]> {
    let isBegun = false;
    try {
      for (const { write } of hot)
        if (write.kind === 'command-cancel-requested' && !this.#outage.isOn)
          isBegun = (await this.#chunks.markCancelled(write.command, write.atMs)) || isBegun;
      return await this.#hot.commit(lease, hot);
    } catch (error) {
      throw isBegun ? inDoubt(error) : error;
    }
  }

  ready(): Promise<void> {
    return this.#outage.over();
  }

  /** Steps of actors that wait to be stored, without those that are being stored. */
  waiting(): number {
    return this.#hot.waiting;
  }

  /** Resolves when nothing waits to be stored. */
  drained(): Promise<void> {
    return this.#hot.drained();
  }

  /** Resolves when everything that waits now is stored or refused. Rejects with DatabaseUnavailable. */
  caughtUp(): Promise<void> {
    return this.#hot.caughtUp();
  }
}
