/**
 * What is left of an execution in the directory of its exec shim once nobody needs it. A script finds that directory
 * (`$0`), and may leave there what the agent cannot remove: another user's files (sudo, docker), or a mount.
 */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { Log } from '../../transport/net/log.ts';
import { removeTree } from '../removal.ts';

/** Removes the directory of an execution that is over. What stays is told, and tried again at each start. */
export function removeRemains(directory: string, execution: ExecutionId, log: Log): void {
  const problem = removeTree(directory);
  if (problem !== null)
    log.warn(
      { execution, path: directory, problem },
      'An execution left something beside its script that cannot be removed; each start of the agent tries again',
    );
}

/** Removes those that former agents left. What stays is told in one line, as it may be much. */
export function removeFormerRemains(directories: readonly string[], log: Log): void {
  const left = directories
    .map((path) => ({ path, problem: removeTree(path) }))
    .filter(({ problem }) => problem !== null);
  const [first] = left;
  if (first !== undefined)
    log.warn(
      { ...first, executions: left.length },
      'Former executions left something beside their scripts that cannot be removed; each start of the agent tries again',
    );
}
