/** A command once more, on the nodes that had it. */
import type { LiveClient } from '../service/client.ts';
import { existing, idOf } from '../names/id-names.ts';
import { TARGET_NODES_MAX } from '../names/node-names.ts';
import { EXIT, Problem } from '../problem.ts';
import type { Session } from '../service/session.ts';
import type { Targeting } from '../names/targeting.ts';
import { executionsNow, type WatchedExecution } from './watch.ts';

/** What was run, and where it is to be run again. */
export interface Again {
  readonly text: string;
  readonly timeout: number | null;
  readonly targeting: Targeting;
}

/**
 * The command of this id, or the beginning of one, for all of its nodes, or for those on which it did not succeed.
 * Nodes that are gone are left out, and those on which it still runs. Refuses when none is left.
 */
export async function commandAgain(
  { api, live }: Session,
  given: string,
  { onlyFailed }: { readonly onlyFailed: boolean },
): Promise<Again> {
  const id = await idOf(api, 'command', given);
  const { command_text: text, timeout } = await existing('command', given, api.get_command.query({ id }));
  const wanted = (await executionsOf(live(), id)).filter(onlyFailed ? hasFailed : hasEnded);
  if (wanted.length > TARGET_NODES_MAX)
    throw new Problem(
      `that would be ${wanted.length} nodes, and one command names at most ${TARGET_NODES_MAX}: run it on labels, clusters or --all`,
      EXIT.usage,
    );
  if (wanted.length === 0)
    throw new Problem(
      onlyFailed
        ? `the command ${given} failed nowhere: edge command get ${given} says how it went`
        : `there is no node on which the command ${given} has ended`,
      EXIT.notFound,
    );
  return { text, timeout, targeting: { type: 'nodes', node_ids: wanted.map(({ node_id: node }) => node) } };
}

async function executionsOf(live: LiveClient, id: string): Promise<readonly WatchedExecution[]> {
  try {
    return await executionsNow(live.api, id);
  } finally {
    live.close();
  }
}

function hasEnded({ status }: WatchedExecution): boolean {
  return status === 'completed' || status === 'cancelled' || status === 'expired';
}

function hasFailed(execution: WatchedExecution): boolean {
  return hasEnded(execution) && !(execution.status === 'completed' && execution.exit_code === 0);
}
