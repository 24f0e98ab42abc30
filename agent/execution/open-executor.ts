/** The executor of this machine, as its settings want it. */
import type { NodeId } from '../../transport/protocol/ids.ts';
import type { Log } from '../../transport/net/log.ts';
import type { GivenConfig } from '../config.ts';
import type { DataDirectory } from '../data-directory.ts';
import { scriptEnvironment } from './exec-shim/exec-shims.ts';
import type { ExecutorOptions } from './executor-options.ts';
import { Executor } from './executor.ts';
import { machineTimeline } from './timeline.ts';

/** What it takes of the agent. `node`: null before the machine is a node. */
export interface OpenExecutorOptions extends Pick<ExecutorOptions, 'journal' | 'onFinished' | 'onHeld'> {
  readonly config: GivenConfig;
  readonly directory: Pick<DataDirectory, 'shims'>;
  readonly node: NodeId | null;
  readonly log: Log;
}

/** One that runs nothing yet: `recover` is to be called first. */
export function openExecutor({ config, directory, node, log, ...more }: OpenExecutorOptions): Executor {
  return new Executor({
    ...more,
    timeline: machineTimeline(),
    log,
    directory: directory.shims,
    concurrency: config.COMMAND_EXECUTION_CONCURRENCY,
    outputBytesMax: config.COMMAND_OUTPUT_MAX_BYTES,
    environment: scriptEnvironment(node ?? '', process.env),
  });
}
