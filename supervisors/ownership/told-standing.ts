/** How the fleet fits its admins as of the last round, and the line of the log when that changes. */
import type { Log } from '../../transport/net/log.ts';
import type { Refusal } from '../../actors/refusal.ts';
import { degradation, isDegraded, orphaned, WHOLE, type Standing } from '../../actors/standing.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';

/** Nothing is known to be wrong at first. */
export class ToldStanding {
  readonly #log: Log;
  #standing: Standing = WHOLE;

  constructor(log: Log) {
    this.#log = log;
  }

  get now(): Standing {
    return this.#standing;
  }

  /** Why nothing is written for a cluster that no admin has room for; null: it is none. */
  refusalOf(cluster: ClusterId): Refusal | null {
    const { orphans, roomMax } = this.#standing;
    const orphan = orphans.find((one) => one.cluster === cluster);
    return orphan === undefined ? null : orphaned(orphan, roomMax);
  }

  /** Clusters that no admin has room for. */
  orphans(): readonly ClusterId[] {
    return this.#standing.orphans.map(({ cluster }) => cluster);
  }

  /** Told of when it changes, or other clusters are left out than before. */
  is(standing: Standing): void {
    const { kind, orphans } = standing;
    const before = this.#standing;
    this.#standing = standing;
    if (kind === before.kind && namesOf(standing) === namesOf(before)) return;
    this.#log.warn(
      {
        degraded: isDegraded(standing),
        clusters: orphans.length,
        nodes: orphans.reduce((sum, orphan) => sum + orphan.nodes, 0),
        problem: degradation(standing),
      },
      isDegraded(standing) ? 'the admins do not have room for everything' : 'the admins have room for everything again',
    );
  }
}

function namesOf({ orphans }: Standing): string {
  return orphans.map(({ cluster }) => cluster).join(' ');
}
