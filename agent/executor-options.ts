/** What an executor is told of its agent. */
import type { ExecutionId } from '../transport/protocol/ids.ts';
import type { Journal } from './journal.ts';
import type { AgentLog } from './ports.ts';
import type { Timeline } from './timeline.ts';

/** What the executor is told. */
export interface ExecutorOptions {
  readonly journal: Journal;
  readonly timeline: Timeline;
  readonly log: AgentLog;
  /** For keepers; created when missing. */
  readonly directory: string;
  readonly concurrency: number;
  readonly outputBytesMax: number;
  /** What scripts see. */
  readonly environment: Readonly<Record<string, string>>;
  /** These are finished in the journal now. */
  readonly onFinished: (executions: readonly ExecutionId[]) => void;
}
