/** A command once more, on the nodes that had it. */
import type { Api, Execution } from '../client.ts';
import { existing, idOf } from '../id-names.ts';
import { firstRows } from '../pages.ts';
import { EXIT, Problem } from '../problem.ts';
import type { Targeting } from '../targeting.ts';

/** Nodes that one targeting may name. Source: docs/limits.md. */
const NODES_MAX = 27_000;

/** What was run, and where it is to be run again. */
export interface Again {
  readonly text: string;
  readonly timeout: number | null;
  readonly targeting: Targeting;
}

/**
 * The command of this id, or the beginning of one, for all of its nodes, or for those on which it did not succeed. Nodes
 * that are gone are left out, and those on which it still runs. Refuses when none is left.
 */
export async function commandAgain(
  api: Api,
  given: string,
  { onlyFailed }: { readonly onlyFailed: boolean },
): Promise<Again> {
  const id = await idOf(api, 'command', given);
  const { command_text: text, timeout } = await existing('command', given, api.get_command.query({ id }));
  const { rows } = await firstRows(NODES_MAX, (page) =>
    api.list_command_executions.query({ command_id__in: [id], ...page }),
  );
  const wanted = rows.filter((execution) => (onlyFailed ? hasFailed(execution) : execution.status !== 'dropped'));
  if (wanted.length === 0)
    throw new Problem(
      onlyFailed
        ? `the command ${given} failed nowhere: edge command get ${given} says how it went`
        : `no node of the command ${given} is left`,
      EXIT.notFound,
    );
  return { text, timeout, targeting: { type: 'nodes', node_ids: wanted.map(({ node_id: node }) => node) } };
}

function hasFailed({ status, exit_code: exitCode }: Execution): boolean {
  return status === 'cancelled' || status === 'expired' || (status === 'completed' && exitCode !== 0);
}
