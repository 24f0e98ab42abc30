/** One thing done to many, by one or by some of them a call: a few calls at a time, with what failed and why. Pure. */

/** Calls that are under way at once: what one page may ask of an admin beside its feeds. */
export const BULK_AT_ONCE = 8;

/** One that failed. */
export interface Failed {
  readonly id: string;
  readonly why: string;
}

/** How far it is. */
export interface BulkProgress {
  readonly total: number;
  /** Of those that were tried, failed ones among them. */
  readonly done: number;
  readonly failed: readonly Failed[];
  /** Nothing more will be tried. */
  readonly isOver: boolean;
}

/** What is to be done. */
export interface Bulk {
  readonly ids: readonly string[];
  /** How many of them one call takes. */
  readonly perCall: number;
  /** Does it to these, and says which of them failed; a rejection is that all of them did. */
  readonly act: (ids: readonly string[]) => Promise<readonly Failed[]>;
  /** A failure in words. */
  readonly wordsOf: (error: unknown) => string;
  readonly told: (progress: BulkProgress) => void;
  /** Nothing is begun any more after it; what is under way ends. */
  readonly signal: AbortSignal;
}

/** Does it to all of them, in their order, and says how it ended. Never rejects. */
export async function doEach({ ids, perCall, act, wordsOf, told, signal }: Bulk): Promise<BulkProgress> {
  let progress: BulkProgress = { total: ids.length, done: 0, failed: [], isOver: false };
  let next = 0;
  const tell = (change: Partial<BulkProgress>): void => told((progress = { ...progress, ...change }));
  const work = async (): Promise<void> => {
    while (next < ids.length && !signal.aborted) {
      const some = ids.slice(next, next + perCall);
      next += some.length;
      const failed = await act(some).catch((error: unknown) => some.map((id) => ({ id, why: wordsOf(error) })));
      tell({
        done: progress.done + some.length,
        failed: failed.length === 0 ? progress.failed : [...progress.failed, ...failed],
      });
    }
  };
  tell({});
  await Promise.all(Array.from({ length: BULK_AT_ONCE }, work));
  tell({ isOver: true });
  return progress;
}
