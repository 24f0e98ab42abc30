/** What came out of a run, told as it comes or at the end. */
import type { Api, Execution, LiveClient } from '../service/client.ts';
import { groupedText, prefixedText } from '../output/grouping.ts';
import { eachExecutionOn, executionsOn, type Reading } from '../output/outputs.ts';
import { tell, write, writeOutput } from '../output/output.ts';
import { isNotFound, reasonOf } from '../problem.ts';
import { Patience } from '../service/patience.ts';
import type { Format } from '../table/format.ts';
import { isForPeople } from '../table/format.ts';
import { recordText } from '../table/text.ts';
import { labelsInTime } from './labels.ts';
import { followOutput, TAILS_MAX } from './tails.ts';
import { Unwritten } from './unwritten.ts';
import { deletedEnds, isOver, type CommandState, type WatchedExecution } from './watch.ts';

/** How outputs are told. */
export interface ReportOptions {
  readonly format: Format;
  /** Identical outputs once, or what differs from the most frequent one, at the end; null: as they come. */
  readonly summary: 'grouped' | 'differences' | null;
  /** Machines may say to a terminal what they want. */
  readonly isRaw: boolean;
  /** Differences in colour. */
  readonly isColoured: boolean;
  /** Aborts when nobody waits any more. */
  readonly leave: AbortSignal;
}

/** What a reporter works with. */
export interface ReporterParts {
  readonly api: Api;
  readonly live: LiveClient;
  readonly command: string;
  readonly options: ReportOptions;
  /** Takes the progress line away. */
  readonly clearLine: () => void;
}

/** Says what came out. */
export interface Reporter {
  heard(state: CommandState, news: readonly WatchedExecution[]): void;
  /**
   * All is over, or what is left is not waited for. Resolves when all is written. What is to be read for that is asked
   * for until the service answers; rejects when somebody leaves meanwhile.
   */
  finish(state: CommandState): Promise<void>;
}

/** A reporter as the options want it. */
export function createReporter(parts: ReporterParts): Reporter {
  const { format, summary } = parts.options;
  return isForPeople(format) && summary === null ? new LiveReporter(parts) : new FinalReporter(parts);
}

/** All at once, when it is over. */
class FinalReporter implements Reporter {
  readonly #parts: ReporterParts;

  constructor(parts: ReporterParts) {
    this.#parts = parts;
  }

  heard(): void {}

  async finish(state: CommandState): Promise<void> {
    const { executions } = state;
    const deleted = deletedEnds(state); // their outputs are gone
    const {
      api,
      command,
      clearLine,
      options: { format, summary, isRaw, isColoured },
    } = this.#parts;
    const nodes = [...executions.values()].map(({ node_id: node }) => node);
    const reading = readingOf(this.#parts);
    const found = await executionsOn(api, command, nodes, reading);
    if (!isForPeople(format)) {
      const whole =
        format === 'json' ? await reading((signal) => api.get_command.query({ id: command }, { signal })) : null;
      clearLine();
      return write(
        whole === null
          ? found.map((execution) => recordText(execution, format)).join('')
          : recordText({ command: whole, executions: found }, 'json'),
      );
    }
    const label = await labelsOf(this.#parts, [...nodes, ...deleted.map(({ node_id: node }) => node)]);
    clearLine();
    const outputs = found
      .filter(({ status }) => status === 'completed')
      .map((execution) => ({ label: label(execution.node_id), output: execution.output ?? '' }));
    if (summary === 'differences') {
      const { differenceText } = await import('../output/differences.ts');
      await write(differenceText(outputs, { isPlain: process.stdout.isTTY && !isRaw, isColoured }));
    } else await (isRaw ? write : writeOutput)(groupedText(outputs));
    return tellEnds([...found, ...deleted], label);
  }
}

interface Tail {
  readonly done: Promise<void>;
  readonly leave: AbortController;
}

/**
 * Line by line as it comes, no faster than it is read; of more nodes than can be followed at once, each when it is
 * over.
 */
class LiveReporter implements Reporter {
  readonly #parts: ReporterParts;
  readonly #tails = new Map<string, Tail>();
  readonly #waiting: WatchedExecution[] = [];
  readonly #labels = Promise.withResolvers<(node: string) => string>();
  readonly #unwritten: Unwritten;
  #hasAskedLabels = false;

  constructor(parts: ReporterParts) {
    this.#parts = parts;
    this.#unwritten = new Unwritten((text) => {
      parts.clearLine();
      return (parts.options.isRaw ? write : writeOutput)(text);
    });
  }

  heard({ summary, executions }: CommandState, news: readonly WatchedExecution[]): void {
    if (executions.size >= summary.total) this.#askLabels(executions); // the first news may be of a part of them
    for (const execution of news) {
      if (this.#tails.has(execution.id)) continue;
      if (this.#tails.size < TAILS_MAX) this.#follow(execution);
      else if (isOver(execution)) this.#waiting.push(execution);
    }
  }

  async finish(state: CommandState): Promise<void> {
    const { executions } = state;
    this.#askLabels(executions);
    for (const [id, { leave }] of this.#tails) {
      const execution = executions.get(id);
      if (execution === undefined || !isOver(execution)) leave.abort(); // of one that was deleted no end comes
    }
    await Promise.all([...this.#tails.values()].map(({ done }) => done));
    const { api, command, clearLine } = this.#parts;
    const label = await this.#labels.promise;
    const reading = readingOf(this.#parts);
    const rest = [...new Set(this.#waiting.map(({ node_id: node }) => node))];
    for await (const { id, node_id: node, output } of eachExecutionOn(api, command, rest, reading))
      if (!this.#tails.has(id)) await this.#unwritten.add(prefixedText({ label: label(node), output: output ?? '' }));
    await this.#unwritten.written();
    clearLine();
    tellEnds([...executions.values(), ...deletedEnds(state)], label);
  }

  /** All at once: a name tells apart only nodes that are asked for together. */
  #askLabels(executions: CommandState['executions']): void {
    if (this.#hasAskedLabels) return;
    this.#hasAskedLabels = true;
    const nodes = [...executions.values()].map(({ node_id: node }) => node);
    this.#labels.resolve(labelsOf(this.#parts, nodes));
  }

  #follow({ id, node_id: node }: WatchedExecution): void {
    const leave = new AbortController();
    const signal = AbortSignal.any([leave.signal, this.#parts.options.leave]);
    const follow = async (): Promise<void> => {
      const name = (await this.#labels.promise)(node);
      await followOutput(this.#parts.live.api, id, signal, {
        lines: (lines) => this.#unwritten.add(lines.map((line) => `${name}: ${line}\n`).join('')),
        missed: (bytes) => this.#tellBehind(`${name}: ${bytes} bytes were gone before they could be read`),
        again: () =>
          this.#tellBehind(`${name}: ended before all was read; what was stored of it follows from the beginning`),
      }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error; // it was deleted: what is left is told at the end
      });
    };
    const done = follow();
    done.catch(() => {}); // told at the end
    this.#tails.set(id, { done, leave });
  }

  /** Between the lines of before and those that follow. */
  #tellBehind(line: string): void {
    this.#unwritten.behind(() => {
      this.#parts.clearLine();
      tell(line);
    });
  }
}

/** Reads until there is an answer, and tells the person when there is none. */
function readingOf({ options: { leave: signal }, clearLine }: ReporterParts): Reading {
  const patience = new Patience({
    signal,
    failing(error) {
      clearLine();
      tell(`what came of it cannot be read now (${reasonOf(error)}); trying again`);
    },
  });
  return (read) => patience.ask(read);
}

/** What the nodes are called; who leaves them nameless is told. */
function labelsOf(
  { api, options: { leave }, clearLine }: ReporterParts,
  nodes: readonly string[],
): Promise<(node: string) => string> {
  return labelsInTime(api, nodes, {
    leave,
    unknown(error) {
      clearLine();
      tell(`the names of the nodes cannot be had (${reasonOf(error)}): they are called by their ids`);
    },
  });
}

/** On stderr: which nodes did not end well, and how. Machines that are away are told in one line. */
function tellEnds(
  executions: readonly Pick<Execution, 'node_id' | 'status' | 'exit_code'>[],
  label: (node: string) => string,
): void {
  for (const { node_id: node, status, exit_code: exitCode } of executions) {
    if (status === 'pending' || status === 'sent') continue;
    if (status === 'completed' && exitCode !== 0)
      tell(`${label(node)}: exited with ${exitCode}${exitCode === 124 ? ' (timed out)' : ''}`);
    else if (status !== 'completed') tell(`${label(node)}: ${ENDS[status]}`);
  }
}

const ENDS = {
  cancelled: 'cancelled',
  expired: 'not reached in time',
  dropped: 'deleted meanwhile',
} as const;
