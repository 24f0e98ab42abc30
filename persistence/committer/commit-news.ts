/** What is told of a transaction once it is stored: its notices to this admin, its figures to metrics. */
import type { Notice } from '../../actors/notice.ts';
import type { Change } from '../../actors/step.ts';
import type { RefusedChange } from '../../supervisors/ports.ts';
import { ObservedHistogram, type Histogram } from '../../transport/net/histogram.ts';

/** Buckets of how long a transaction took, in s: from what an idle database takes to where it counts as away. */
const DURATION_BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Buckets of changes in one transaction, up to BATCH_CHANGES_MAX and the one unit that may go beyond it. */
const SIZE_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000];

/** What the committer did so far, for metrics. */
export interface CommitCounters {
  batches: number;
  changes: number;
  refused: number;
  failed: number;
  /** How long transactions took that were stored, in s. */
  readonly durations: Histogram;
  /** Changes in each of them. */
  readonly sizes: Histogram;
}

/** Counts from zero. `committed` hears the notices of each transaction after its commit, in commit order. */
export class CommitNews {
  readonly counters: CommitCounters & { readonly durations: ObservedHistogram; readonly sizes: ObservedHistogram } = {
    batches: 0,
    changes: 0,
    refused: 0,
    failed: 0,
    durations: new ObservedHistogram(DURATION_BOUNDS_S),
    sizes: new ObservedHistogram(SIZE_BOUNDS),
  };
  readonly #committed: (notices: readonly Notice[]) => void;

  constructor(committed: (notices: readonly Notice[]) => void) {
    this.#committed = committed;
  }

  /** A transaction was stored: all changes but those refused. `more` are notices that only the rows could tell. */
  tell(
    changes: readonly Change[],
    refused: readonly RefusedChange[],
    beganMs: number,
    more: readonly Notice[] = [],
  ): void {
    const { counters } = this;
    counters.batches += 1;
    if (changes.length > 0) {
      counters.durations.observe((performance.now() - beganMs) / 1_000);
      counters.sizes.observe(changes.length);
    }
    counters.changes += changes.length;
    counters.refused += refused.length;
    const without = new Set(refused.map((one) => one.change));
    const notices: Notice[] = [...more];
    for (const change of changes) if (!without.has(change)) for (const notice of change.notices) notices.push(notice);
    this.#committed(notices);
  }
}
