/** One thing done to many, by one or by some of them a call: a few calls at a time, with what failed and why. Pure. */
import { isNotSent } from './failure.ts';

/** Calls that are under way at once: what one page may ask of an admin beside its feeds. */
export const BULK_AT_ONCE = 8;

/** Waited before what was not sent is tried again, in ms. */
const AGAIN_MS = 1_000;

/** So long after the connection was lost it is waited for, in ms: as long as one command is tried. */
export const UNSENT_MS_MAX = 60_000;

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
  const failed: Failed[] = [];
  let progress: BulkProgress = { total: ids.length, done: 0, failed, isOver: false };
  let next = 0;
  const tell = (change: Partial<BulkProgress>): void => told((progress = { ...progress, ...change }));
  const work = async (): Promise<void> => {
    while (next < ids.length && !signal.aborted) {
      const some = ids.slice(next, next + perCall);
      next += some.length;
      failed.push(...(await act(some).catch((error: unknown) => some.map((id) => ({ id, why: wordsOf(error) })))));
      tell({ done: progress.done + some.length });
    }
  };
  tell({});
  await Promise.all(Array.from({ length: BULK_AT_ONCE }, work));
  tell({ isOver: true });
  return progress;
}

/** What waiting for a connection goes by. */
interface Waiting {
  readonly wait: (ms: number) => Promise<void>;
  readonly nowMs: () => number;
}

const REAL: Waiting = {
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  nowMs: () => performance.now(),
};

/**
 * The same, tried again while there is no connection: nothing was done then, and it may come back. Until it is stopped,
 * or UNSENT_MS_MAX after the connection was lost: what comes to its turn later is tried once.
 */
export function untilSent(act: Bulk['act'], signal: AbortSignal, { wait, nowMs } = REAL): Bulk['act'] {
  let lostMs: number | null = null;
  return async (ids) => {
    for (;;) {
      try {
        const failed = await act(ids);
        lostMs = null;
        return failed;
      } catch (error) {
        if (!isNotSent(error)) lostMs = null;
        else lostMs ??= nowMs();
        const isOver = lostMs === null || nowMs() - lostMs >= UNSENT_MS_MAX;
        if (!isOver && !signal.aborted) await wait(AGAIN_MS);
        if (isOver || signal.aborted) throw error;
      }
    }
  };
}
