/** What an executor is told of its agent. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { Waiting } from './execution.ts';
import type { Journal } from './journal/journal.ts';
import type { ExecShim } from './exec-shim/exec-shims.ts';
import type { Log } from '../../transport/net/log.ts';
import type { Timeline } from './timeline.ts';

/** What the executor is told. */
export interface ExecutorOptions {
  readonly journal: Journal;
  readonly timeline: Timeline;
  readonly log: Log;
  /** For exec shims; created when missing. */
  readonly directory: string;
  readonly concurrency: number;
  readonly outputBytesMax: number;
  /** What scripts see. */
  readonly environment: Readonly<Record<string, string>>;
  /** Some wait until an admin was asked about them: `held` says which. */
  readonly onHeld?: () => void;
  /** These are finished in the journal now. */
  readonly onFinished: (executions: readonly ExecutionId[]) => void;
}

/** An execution with its exec shim, which has the script and waits for the job. */
export interface Start {
  readonly waiting: Waiting;
  readonly shim: ExecShim;
}
