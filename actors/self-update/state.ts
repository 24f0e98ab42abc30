/** What the actor of a self-update request holds: what was asked for, and counts; never nodes. */
import type { SelfUpdateStatus } from '../resources/self-update.ts';
import type { Targeting } from '../targeting-schema.ts';

/** What was asked for. It never changes. Unix ms. */
export interface SelfUpdateRecord {
  readonly id: string;
  readonly targeting: Targeting;
  /** Null: all at once. */
  readonly batchSize: number | null;
  /** Null: any number. */
  readonly maxFailures: number | null;
  readonly healthTimeoutMs: number;
  readonly insertedAtMs: number;
}

/** Its nodes by what their rows say, in one snapshot. */
export interface SelfUpdateCounts {
  readonly waiting: number;
  readonly due: number;
  /** Failed, or gone back to the version before. */
  readonly failures: number;
  /** Triggered at some time. */
  readonly triggered: number;
  /** Due, or triggered and not judged. */
  readonly inFlight: number;
  /** Of which time, or that the node is gone, makes something else now: by the database's clock. */
  readonly ripe: number;
  /** Due for a while without a word. */
  readonly quiet: number;
}

/** What the rows of a request say. `revision` grows with each of its moves. */
export interface CountedSelfUpdate {
  readonly revision: number;
  readonly status: SelfUpdateStatus;
  readonly counts: SelfUpdateCounts;
}

/** The state of one request. */
export interface SelfUpdateState {
  readonly id: string;
  /** Null only before its creation is stored. */
  readonly record: SelfUpdateRecord | null;
  /** As they were counted last; null: not yet. */
  readonly counted: CountedSelfUpdate | null;
  /**
   * The revision of its last move here: what was counted at it, or before, is old. Null: none since the rows were read.
   */
  readonly movedAt: number | null;
  /** Whether a count is under way. */
  readonly isCounting: boolean;
  /** News came while it was, or since: the next count is due. */
  readonly isStale: boolean;
  /** When the last count came in, Unix ms. */
  readonly countedAtMs: number;
}

/** As its row has it: nothing is counted yet. `record` null: it is about to be created. */
export function uncounted(id: string, record: SelfUpdateRecord | null): SelfUpdateState {
  return { id, record, counted: null, movedAt: null, isCounting: record !== null, isStale: false, countedAtMs: 0 };
}
