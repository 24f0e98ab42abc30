/** One thing done to many, each by itself: some at a time, with what failed and why. No browser is needed for it. */

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
  readonly act: (id: string) => Promise<unknown>;
  /** A failure in words. */
  readonly wordsOf: (error: unknown) => string;
  readonly told: (progress: BulkProgress) => void;
  /** Nothing is begun any more after it; what is under way ends. */
  readonly signal: AbortSignal;
}

/** Does it to all of them, in their order, and says how it ended. Never rejects. */
export async function doEach({ ids, act, wordsOf, told, signal }: Bulk): Promise<BulkProgress> {
  let progress: BulkProgress = { total: ids.length, done: 0, failed: [], isOver: false };
  const next = ids[Symbol.iterator]();
  const tell = (change: Partial<BulkProgress>): void => told((progress = { ...progress, ...change }));
  const work = async (): Promise<void> => {
    for (let one = next.next(); one.done !== true; one = next.next()) {
      if (signal.aborted) return;
      const id = one.value;
      const why = await act(id).then(
        () => null,
        (error: unknown) => wordsOf(error),
      );
      const failed = why === null ? progress.failed : [...progress.failed, { id, why }];
      tell({ done: progress.done + 1, failed });
    }
  };
  tell({});
  await Promise.all(Array.from({ length: Math.min(BULK_AT_ONCE, ids.length) }, work));
  tell({ isOver: true });
  return progress;
}
