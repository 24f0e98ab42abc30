/** What an earlier agent left: processes that run or have ended, and executions whose process never came to be. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT_INTERRUPTED } from '../../transport/protocol/limits.ts';
import { readStartLock, takeStartLock } from './exec-shim/start-lock.ts';
import { neverStarted, type Ending, type Started } from './execution.ts';
import type { ExecutorOptions } from './executor-options.ts';
import { traceField } from './process-trace.ts';
import { removeFormerRemains, removeRemains } from './remains.ts';
import { RunningExecution } from './running-execution.ts';
import { elapsedMs, stampNow } from './timeline.ts';

/** Who takes them. */
export interface RecoveryPorts {
  readonly add: (running: RunningExecution) => void;
  readonly end: (ending: Ending) => void;
}

/**
 * Takes up all whose start is recorded, by the journal or by a start lock, and removes what nobody owns. What is over
 * and could not be stored yet ends once more.
 */
export function takeUp(options: ExecutorOptions, ports: RecoveryPorts): void {
  for (const ending of options.journal.formerEnds()) ports.end(ending);
  const started = options.journal.started();
  for (const execution of started) adopt(options, execution, ports);
  takeUpOthers(options, new Set(started.map((execution) => execution.shim)), ports);
}

function adopt(
  { timeline, outputBytesMax, directory, log }: ExecutorOptions,
  started: Started,
  { add, end }: RecoveryPorts,
): void {
  const home = join(directory, started.shim);
  if (takeStartLock(home)) {
    log.warn(
      {
        execution: started.execution,
        ...traceField(started.traceparent),
      },
      'An execution was recorded as started and its process never came to be; it is reported as cancelled',
    );
    end(neverStarted(started.execution, EXIT_INTERRUPTED));
    removeRemains(home, started.execution, log);
    return;
  }
  const nowMs = timeline.monotonicMs();
  add(
    new RunningExecution({
      execution: started.execution,
      shim: started.shim,
      directory: home,
      pid: null,
      outputBytesMax,
      traceparent: started.traceparent,
      deadlineMs:
        started.timeoutMs === null ? null : nowMs + started.timeoutMs - elapsedMs(started.startedAt, timeline),
      bootId: timeline.bootId,
      nowMs: () => timeline.monotonicMs(),
    }),
  );
}

/**
 * Directories that the journal does not name. Those of idle exec shims and of stored results go. A locked one was
 * started under a journal that is lost: its execution is taken up like any other, so that it is neither run again nor
 * forgotten.
 */
function takeUpOthers(options: ExecutorOptions, owned: ReadonlySet<string>, ports: RecoveryPorts): void {
  const { journal, directory, log, timeline } = options;
  const over: string[] = [];
  for (const shim of readdirSync(directory)) {
    if (owned.has(shim)) continue;
    const home = join(directory, shim);
    const execution = readStartLock(home)?.execution ?? null;
    if (execution !== null && journal.restore({ execution, shim })) {
      log.warn({ execution }, 'An execution was found that the journal does not know; it is taken up');
      adopt(options, { execution, shim, timeoutMs: null, startedAt: stampNow(timeline), traceparent: null }, ports);
    } else {
      takeStartLock(home);
      over.push(home);
    }
  }
  removeFormerRemains(over, log);
}
