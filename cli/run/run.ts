/** `edge run`: one command on many nodes, seen live, with an exit status that tells how it went. */
import type { Api, Command, Inputs, LiveClient } from '../service/client.ts';
import { countOfNodes } from '../names/node-names.ts';
import { labelsFor } from '../output/outputs.ts';
import { tell } from '../output/output.ts';
import { EXIT, isConflict, Problem, reasonOf, type ExitStatus } from '../problem.ts';
import { Patience } from '../service/patience.ts';
import { shortId } from '../table/short-ids.ts';
import { AwayWatch } from './away.ts';
import { createProgress, endText } from './progress.ts';
import { createReporter, type ReportOptions } from './reporter.ts';
import { followCommand, wholeSummary, type CommandState } from './watch.ts';

/** What to run, and where: the input of `create_command`. */
export type NewCommand = Inputs['create_command'];

/** How the results are told. */
export interface RunOptions extends ReportOptions {
  /** Whether machines that are away are waited for, too. */
  readonly waitsForAway: boolean;
  /** Whether the id is told at the start, and at the end how it went. */
  readonly isFramed: boolean;
  /** Aborts when the person asks to cancel; `leave` when they go without waiting. */
  readonly cancel: AbortSignal;
}

/** Quiet time after which the person is told what is waited for, in ms. */
const HINT_MS = 5_000;

/** Nodes that a line names, and the columns that it has for them: with the rest of it, 80 or less. */
const NAMED_NODES_MAX = 5;
const NAMES_COLUMNS_MAX = 27;

/** Stores a command. Refuses one for which no node matches. */
export async function createCommand(api: Api, command: NewCommand): Promise<Command> {
  const created = await api.create_command.mutate(command);
  if (created.summary.total === 0)
    throw new Problem('no node matches, so nothing ran: edge node ls shows what there is', EXIT.notFound);
  return created;
}

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
  const startedMs = performance.now();
  const { id, summary } = await createCommand(api, command);
  if (options.isFramed) tell(`command ${id} runs on ${countOfNodes(summary.total)}`);

  const progress = createProgress(process.stderr, () => performance.now());
  const clearLine = (): void => progress.clear();
  const ended = new AbortController();
  const cancelled = (): void => {
    clearLine();
    tell(`asking all nodes to stop ${id}; Ctrl-C again leaves at once`);
    void cancelPatiently(api, id, AbortSignal.any([options.leave, ended.signal]), clearLine);
  };
  options.cancel.addEventListener('abort', cancelled, { once: true });
  if (options.cancel.aborted) cancelled(); // while it was stored

  const reporter = createReporter({ api, live, command: id, options, clearLine });
  const onlyAway = new AbortController();
  const away = options.waitsForAway
    ? null
    : new AwayWatch(api, {
        onlyAway: () => onlyAway.abort(),
        unknown(error) {
          clearLine();
          tell(`cannot see which machines are connected (${reasonOf(error)}), so all are waited for: Ctrl-C cancels`);
        },
      });
  let hint: NodeJS.Timeout | undefined;
  try {
    const state = await followCommand(live.api, id, AbortSignal.any([options.leave, onlyAway.signal]), (now, news) => {
      reporter.heard(now, news);
      progress.show(now.summary);
      away?.heard(now);
      clearTimeout(hint);
      hint = setTimeout(() => void tellWaiting(api, now, { leave: options.leave, clearLine }), HINT_MS);
    });
    clearTimeout(hint);
    if (state === null || options.leave.aborted) return left(id);
    await reporter.finish(state);
    if (state.summary.pending > 0) await tellAway(api, id, state, options.leave);
    if (state.summary.sent > 0) await tellLost(api, id, state, options.leave);
    const whole = wholeSummary(state, summary.total);
    if (options.isFramed) tell(`${endText(whole, performance.now() - startedMs)} (${shortId(id)})`);
    return statusOf(whole);
  } catch (error) {
    if (options.leave.aborted) return left(id);
    throw error;
  } finally {
    clearTimeout(hint);
    ended.abort();
    away?.end();
    clearLine();
    options.cancel.removeEventListener('abort', cancelled);
  }
}

/**
 * Until the service takes it, or the signal aborts: the next Ctrl-C is no second try, it leaves. What is on its way
 * then is not taken back: the program has some time left after its end.
 */
async function cancelPatiently(api: Api, id: string, signal: AbortSignal, clearLine: () => void): Promise<void> {
  const patience = new Patience({
    signal,
    failing(error) {
      clearLine();
      tell(`it cannot be cancelled now (${reasonOf(error)}); trying again`);
    },
  });
  try {
    await patience.ask(() => api.cancel_command.mutate({ id }));
  } catch (error) {
    if (signal.aborted || isConflict(error)) return; // nobody waits for it any more, or it has ended
    clearLine();
    tell(`it could not be cancelled: ${reasonOf(error)}`);
  }
}

function left(id: string): ExitStatus {
  tell(`left; the command goes on as ${id}: edge command get ${id}`);
  return EXIT.interrupted;
}

/** Only nodes that are not connected are left: without a word it would look as if this program hung. */
async function tellWaiting(
  api: Api,
  state: CommandState,
  { leave, clearLine }: { readonly leave: AbortSignal; readonly clearLine: () => void },
): Promise<void> {
  if (state.summary.pending === 0 || state.summary.sent > 0) return;
  const { count, names } = await nodesThat(api, state, 'pending', leave);
  if (leave.aborted) return;
  clearLine();
  tell(`waiting for ${count} that ${count === 1 ? 'is' : 'are'} not connected (${names})`);
  tell('Ctrl-C cancels, and --expires 5m would give up by itself');
}

/** Who is left, and how to look later. Who leaves does not wait for their names. */
async function tellAway(api: Api, id: string, state: CommandState, leave: AbortSignal): Promise<void> {
  const { count, names } = await nodesThat(api, state, 'pending', leave);
  tell(
    count === 1
      ? `${names} is away and runs it when it is back`
      : `${count} are away and run it when they are back: ${names}`,
  );
  tell(`edge command output ${id} shows it then`);
  tell(`edge command cancel ${id} calls it off`);
}

/** Who went away with it, and how to look later. */
async function tellLost(api: Api, id: string, state: CommandState, leave: AbortSignal): Promise<void> {
  const { count, names } = await nodesThat(api, state, 'sent', leave);
  tell(
    count === 1
      ? `${names} went away while it ran; when it is back:`
      : `${count} went away while it ran (${names}); when they are back:`,
  );
  tell(`edge command output ${id} shows the rest`);
}

async function nodesThat(
  api: Api,
  { executions }: CommandState,
  are: 'pending' | 'sent',
  leave: AbortSignal,
): Promise<{ readonly count: number; readonly names: string }> {
  const found = [...executions.values()].flatMap(({ status, node_id: node }) => (status === are ? [node] : []));
  const named = found.slice(0, NAMED_NODES_MAX);
  const labels = await labelsFor(api, named, (read) => read(leave)).then(
    (label) => named.map(label),
    () => named.map(shortId),
  );
  const fitting = labels.filter(
    (_label, index) => index === 0 || labels.slice(0, index + 1).join(', ').length <= NAMES_COLUMNS_MAX,
  );
  return { count: found.length, names: [...fitting, ...(found.length > fitting.length ? ['...'] : [])].join(', ') };
}

function statusOf(summary: Command['summary']): ExitStatus {
  if (summary.completed < summary.total) return EXIT.someUnfinished;
  return summary.failed > 0 ? EXIT.someFailed : EXIT.ok;
}
