/** A real journal and a real executor in a directory of the test's own. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { Executor } from '../../../agent/execution/executor.ts';
import type { ExecutorOptions } from '../../../agent/execution/executor-options.ts';
import { Journal } from '../../../agent/execution/journal/journal.ts';
import { Ledger } from '../../../agent/execution/ledger/ledger.ts';
import { scriptEnvironment } from '../../../agent/execution/exec-shim/exec-shims.ts';
import type { Finished } from '../../../agent/session/ports.ts';
import { listProcesses } from '../../../agent/execution/processes.ts';
import { machineTimeline } from '../../../agent/execution/timeline.ts';
import type { Delivery } from '../../../transport/protocol/frames.ts';
import { ExecutionId } from '../../../transport/protocol/ids.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { silentLog } from '../log.ts';

/** Ids of processes whose command line has this in it. */
export function processesNamed(word: string): number[] {
  return listProcesses()
    .map((entry) => entry.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(word);
      } catch {
        return false;
      }
    });
}

/** How an execution ended, with the output that the journal kept. */
export interface Result extends Finished {
  readonly output: string;
}

/** An executor with a real journal and real processes, in a directory of its own. */
export class Fixture {
  readonly directory: string;
  readonly journal: Journal;
  readonly executor: Executor;
  readonly #finished = new Map<ExecutionId, () => void>();

  constructor(t: ExecutionContext, options: Partial<ExecutorOptions> = {}, directory = temporaryDirectory(t)) {
    this.directory = directory;
    const timeline = machineTimeline();
    const ledger = new Ledger(join(directory, 'executions.ledger'), silentLog);
    this.journal = new Journal(join(directory, 'journal.db'), timeline, silentLog, ledger);
    this.executor = new Executor({
      journal: this.journal,
      timeline,
      log: silentLog,
      directory: join(directory, 'keepers'),
      concurrency: 10,
      outputBytesMax: 1_048_576,
      environment: scriptEnvironment('a-node', process.env),
      onFinished: (executions) => {
        for (const execution of executions) this.#finished.get(execution)?.();
      },
      ...options,
    });
    t.teardown(async () => {
      await this.executor.close();
      this.journal.close();
      ledger.close();
    });
  }

  /** Receives and runs a script; the answer is its id. */
  start(commandText: string, more: Partial<Delivery> = {}): ExecutionId {
    const execution = ExecutionId.parse(randomUUID());
    const { fresh } = this.executor.receive([
      { execution, command_text: commandText, timeout_ms: null, expires_in_ms: null, ...more },
    ]);
    this.executor.run(fresh);
    return execution;
  }

  /** Waits for an execution's result. */
  async result(execution: ExecutionId): Promise<Result> {
    if (this.journal.result(execution) === null)
      await new Promise<void>((resolve) => {
        this.#finished.set(execution, resolve);
      });
    const finished = this.journal.result(execution);
    if (finished === null) throw new Error('finished without a result');
    let output = '';
    for (let offset = 0; offset < finished.outputBytes;) {
      const piece = this.journal.output(execution, offset, 65_536);
      if (piece === null || piece.text === '') break;
      output += piece.text;
      offset = piece.next;
    }
    return { ...finished, output };
  }

  async run(commandText: string, more: Partial<Delivery> = {}): Promise<Result> {
    return this.result(this.start(commandText, more));
  }
}
