/** An execution at each of its stages: it waits, is recorded as started, and has ended; and how many do. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { Finished } from '../session/ports.ts';
import type { Stamp } from './timeline.ts';

/** An execution that has not started. */
export interface Waiting {
  readonly execution: ExecutionId;
  readonly commandText: string;
  readonly timeoutMs: number | null;
  /** The admin gave it up by now: it must not start (C8). */
  readonly isExpired: boolean;
  /** As delivered; null: nobody traces it. */
  readonly traceparent: string | null;
}

/** An execution whose start is recorded, so that it never starts again (C3). */
export interface Started {
  readonly execution: ExecutionId;
  /** Name of its exec shim's directory. */
  readonly shim: string;
  readonly timeoutMs: number | null;
  readonly startedAt: Stamp;
  readonly traceparent: string | null;
}

/** How an execution ended, with its output as it is kept. */
export interface Ending {
  readonly execution: ExecutionId;
  readonly outcome: Finished['outcome'];
  readonly exitCode: number;
  readonly output: Buffer;
  readonly outputTruncated: boolean;
  /** False when no process ever ran. */
  readonly hasRun?: boolean;
}

/** What a journal holds now, and what became of executions since it was opened. */
export interface JournalCounts {
  /** Not started. */
  readonly waiting: number;
  readonly started: number;
  /** Ended, and not confirmed by an admin yet. */
  readonly unconfirmed: number;
  /**
   * Since it was opened: taken in; ended by themselves; ended as cancelled; given up by the admin, such as expired
   * ones.
   */
  readonly received: number;
  readonly completed: number;
  readonly cancelled: number;
  readonly dropped: number;
}

/** The end of an execution of which no process ever ran. */
export function neverStarted(execution: ExecutionId, exitCode: number): Ending {
  return { execution, outcome: 'cancelled', exitCode, output: Buffer.alloc(0), outputTruncated: false, hasRun: false };
}
