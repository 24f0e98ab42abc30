/** `edge run`: one command on many nodes, seen live, with an exit status that tells how it went. */
import type { Api, Execution, Inputs, LiveClient } from './client.ts';
import { groupedText, prefixedText } from './grouping.ts';
import { executionsOn, labelsFor } from './outputs.ts';
import { tell, write, writeOutput } from './output.ts';
import { recordText, type Format } from './table.ts';
import { EXIT, Problem, type ExitStatus } from './problem.ts';
import { createProgress } from './progress.ts';
import { followOutput, TAILS_MAX } from './tails.ts';
import { followCommand, type CommandState, type WatchedExecution } from './watch.ts';

/** What to run, and where: the input of `create_command`. */
export type NewCommand = Inputs['create_command'];

/** How the results are told. */
export interface RunOptions {
  readonly format: Format;
  /** Identical outputs once, at the end. */
  readonly grouped: boolean;
  /** Aborts when the person asks to cancel, and again (`leave`) to go without waiting. */
  readonly cancel: AbortSignal;
  readonly leave: AbortSignal;
}

/** Quiet time after which the person is told what is waited for, in ms. */
const HINT_MS = 5_000;

/** Nodes that the hint names. */
const HINT_NODES_MAX = 5;

/**
 * Runs a command and tells its outputs. Answers the exit status: EXIT.someFailed, EXIT.someUnfinished (which wins), or
 * EXIT.ok.
 */
export async function runCommand(
  api: Api,
  live: LiveClient,
  command: NewCommand,
  options: RunOptions,
): Promise<ExitStatus> {
  const created = await api.create_command.mutate(command);
  if (created.summary.total === 0)
    throw new Problem('no node matches, so nothing ran: edge node ls shows what there is', EXIT.notFound);

  const progress = createProgress(process.stderr, () => performance.now());
  const cancelled = (): void => {
    progress.clear();
    tell(`asking all nodes to stop ${created.id}; Ctrl-C again leaves at once`);
    api.cancel_command.mutate({ id: created.id }).catch(() => tell('it could not be cancelled'));
  };
  options.cancel.addEventListener('abort', cancelled, { once: true });

  const telling = createTelling(api, live, created.id, options, () => progress.clear());
  let hint: NodeJS.Timeout | undefined;
  try {
    const state = await followCommand(live.api, created.id, options.leave, (now, news) => {
      telling.heard(now, news);
      progress.show(now.summary);
      clearTimeout(hint);
      hint = setTimeout(() => void tellWaiting(api, now, () => progress.clear()), HINT_MS);
    });
    clearTimeout(hint);
    if (state === null || options.leave.aborted) {
      tell(`left; the command goes on as ${created.id}: edge command get ${created.id}`);
      return EXIT.interrupted;
    }
    await telling.finish(state);
    return statusOf(state);
  } finally {
    clearTimeout(hint);
    progress.clear();
    options.cancel.removeEventListener('abort', cancelled);
  }
}

/** Only nodes that are not connected are left: without a word it would look as if this program hung. */
async function tellWaiting(api: Api, { summary, executions }: CommandState, clearLine: () => void): Promise<void> {
  if (summary.pending === 0 || summary.sent > 0) return;
  const nodes = [...executions.values()].flatMap(({ status, node_id: node }) => (status === 'pending' ? [node] : []));
  const names = await labelsFor(api, nodes.slice(0, HINT_NODES_MAX)).then(
    (label) => nodes.slice(0, HINT_NODES_MAX).map(label),
    () => nodes.slice(0, HINT_NODES_MAX),
  );
  clearLine();
  tell(
    `waiting for ${nodes.length} that ${nodes.length === 1 ? 'is' : 'are'} not connected (${names.join(', ')}${nodes.length > HINT_NODES_MAX ? ', ...' : ''}): Ctrl-C cancels, and --expires 5m would give up by itself`,
  );
}

/** Says what came out: as it comes, or at the end. */
interface Telling {
  heard(state: CommandState, news: readonly WatchedExecution[]): void;
  finish(state: CommandState): Promise<void>;
}

function createTelling(api: Api, live: LiveClient, id: string, options: RunOptions, clearLine: () => void): Telling {
  if (options.format === 'table' && !options.grouped) return createLiveTelling(api, live, id, options, clearLine);
  return {
    heard() {},
    async finish({ executions }) {
      const nodes = [...executions.values()].map(({ node_id: node }) => node);
      const [found, label] = await Promise.all([executionsOn(api, id, nodes), labelsFor(api, nodes)]);
      clearLine();
      if (options.format === 'json')
        await write(recordText({ command: await api.get_command.query({ id }), executions: found }, 'json'));
      else if (options.format === 'ndjson')
        await write(found.map((execution) => recordText(execution, 'ndjson')).join(''));
      else {
        await writeOutput(
          groupedText(
            found
              .filter(({ status }) => status === 'completed')
              .map((execution) => ({ label: label(execution.node_id), output: execution.output ?? '' })),
          ),
        );
        tellEnds(found, label);
      }
    },
  };
}

function createLiveTelling(
  api: Api,
  live: LiveClient,
  id: string,
  options: RunOptions,
  clearLine: () => void,
): Telling {
  const following = new Map<string, Promise<void>>();
  const waiting: WatchedExecution[] = [];
  let labels: Promise<(node: string) => string> | null = null;
  let writing = Promise.resolve();

  const say = (text: string): void => {
    writing = writing.then(() => {
      clearLine();
      return writeOutput(text);
    });
  };
  const follow = async (execution: WatchedExecution, label: Promise<(node: string) => string>): Promise<void> => {
    const name = (await label)(execution.node_id);
    await followOutput(live.api, execution.id, options.leave, (line) => say(`${name}: ${line}\n`));
  };

  return {
    heard({ executions }, news) {
      labels ??= labelsFor(
        api,
        [...executions.values()].map(({ node_id: node }) => node),
      );
      const label = labels;
      for (const execution of news) {
        if (following.has(execution.id)) continue;
        if (following.size < TAILS_MAX) following.set(execution.id, follow(execution, label));
        else if (isOver(execution)) waiting.push(execution);
      }
    },
    async finish({ executions }) {
      await Promise.all(following.values());
      const nodes = [...executions.values()].map(({ node_id: node }) => node);
      const label = await (labels ?? labelsFor(api, nodes));
      const rest = await executionsOn(api, id, [...new Set(waiting.map(({ node_id: node }) => node))]);
      for (const execution of rest)
        if (!following.has(execution.id))
          say(prefixedText({ label: label(execution.node_id), output: execution.output ?? '' }));
      await writing;
      clearLine();
      tellEnds([...executions.values()], label);
    },
  };
}

/** On stderr: which nodes did not end well, and how. */
function tellEnds(
  executions: readonly Pick<Execution, 'node_id' | 'status' | 'exit_code'>[],
  label: (node: string) => string,
): void {
  for (const { node_id: node, status, exit_code: exitCode } of executions) {
    if (status === 'completed' && exitCode !== 0)
      tell(`${label(node)}: exited with ${exitCode}${exitCode === 124 ? ' (timed out)' : ''}`);
    else if (status !== 'completed') tell(`${label(node)}: ${ENDS[status]}`);
  }
}

const ENDS: Readonly<Record<string, string>> = {
  pending: 'not reached yet',
  sent: 'still running',
  cancelled: 'cancelled',
  expired: 'not reached in time',
  dropped: 'deleted meanwhile',
};

function isOver({ status }: WatchedExecution): boolean {
  return status !== 'pending' && status !== 'sent';
}

function statusOf({ summary }: CommandState): ExitStatus {
  if (summary.completed < summary.total) return EXIT.someUnfinished;
  return summary.failed > 0 ? EXIT.someFailed : EXIT.ok;
}
