/** `edge wait`. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Command as Program } from 'commander';
import { wordOf } from '../arguments.ts';
import type { Api, Node } from '../service/client.ts';
import { durationMs } from '../duration.ts';
import { nodeIdOf, NotAmongNewest } from '../names/node-names.ts';
import { NODE_STATUSES } from '../output/node-table.ts';
import { tell } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT, isNotFound, Problem, problemOf } from '../problem.ts';
import { sessionOf, type Session } from '../service/session.ts';
import { ageText, durationText } from '../table/ages.ts';

/** Between two looks, in ms. */
const LOOK_MS = 1_000;

/** What can be waited for: a status, or that there is no such node any more. */
const STATES = [...NODE_STATUSES, 'gone'] as const;
type State = (typeof STATES)[number];

interface WaitFlags {
  readonly for: State;
  readonly timeout?: string;
}

const HELP = `
Examples:
  edge key create prod | ssh root@new-machine …; edge wait web-9 --timeout 5m     a machine that is about to join
  edge wait web-1 --for unreachable && edge wait web-1                            a reboot

Exit status: 0 it is so, 1 the time was over; 2, 3, 4 as of edge.`;

/** Waits for nodes. */
export function addWaitCommand(program: Program): void {
  program
    .command('wait <nodes...>')
    .description('wait until nodes are healthy, or whatever else is said; also for nodes that are not there yet')
    .option(
      '--for <state>',
      `${STATES.slice(0, -1).join(', ')} or ${STATES.at(-1) ?? ''}`,
      wordOf('--for', STATES),
      'healthy',
    )
    .option('--timeout <duration>', 'give up after this time, such as 5m')
    .addHelpText('after', HELP)
    .action(async (names: readonly string[], flags: WaitFlags, command: Program) => {
      const timeoutMs = flags.timeout === undefined ? Number.POSITIVE_INFINITY : durationMs(flags.timeout, '--timeout');
      const session = sessionOf(command);
      const untilMs = performance.now() + timeoutMs;
      const waiting = new Waiting(names, flags.for);
      while (!(await waiting.look(session))) {
        const restMs = untilMs - performance.now();
        if (restMs <= 0) {
          for (const line of waiting.lines()) tell(line);
          throw new Problem(`not ${flags.for} after ${durationText(timeoutMs)}: ${waiting.names().join(', ')}`);
        }
        await pause(Math.min(LOOK_MS, restMs));
      }
    });
}

/** Nodes that are not yet what they are waited for. */
class Waiting {
  readonly #wanted: State;
  readonly #names: Set<string>;
  /** How each was when it was last seen, and its id. */
  readonly #seen = new Map<string, string>();
  readonly #ids = new Map<string, string>();
  #hasLooked = false;
  #isFailing = false;

  constructor(names: readonly string[], wanted: State) {
    this.#names = new Set(names);
    this.#wanted = wanted;
  }

  names(): readonly string[] {
    return [...this.#names];
  }

  lines(): readonly string[] {
    return this.names().flatMap((name) => this.#seen.get(name) ?? []);
  }

  /** Whether all are so. A service that is away later than at the first look is told of once: it comes back. */
  async look({ api, connection }: Session): Promise<boolean> {
    try {
      for (const name of this.#names) {
        const node = await this.#nodeNow(api, name);
        if (node === null && this.#wanted !== 'gone' && !this.#hasLooked)
          tell(`there is no node "${plainText(name)}" yet: it is waited for`);
        if (this.#wanted === (node?.status ?? 'gone')) this.#names.delete(name);
        else this.#seen.set(name, nowText(name, node));
      }
      this.#hasLooked = true;
      this.#isFailing = false;
    } catch (error) {
      const { status, message } = problemOf(error, connection);
      if (!this.#hasLooked || status !== EXIT.failed) throw error;
      if (!this.#isFailing) tell(`${message}; trying again`);
      this.#isFailing = true;
    }
    return this.#names.size === 0;
  }

  /** The node as it is now; null: there is none of this name. */
  async #nodeNow(api: Api, name: string): Promise<Node | null> {
    try {
      const id = await this.#idNow(api, name);
      this.#ids.set(name, id);
      return await api.get_node.query({ id });
    } catch (error) {
      if (error instanceof NotAmongNewest) throw error;
      if (isNotFound(error) || (error instanceof Problem && error.status === EXIT.notFound)) return null;
      throw error;
    }
  }

  async #idNow(api: Api, name: string): Promise<string> {
    try {
      return await nodeIdOf(api, name);
    } catch (error) {
      const known = this.#ids.get(name);
      if (error instanceof NotAmongNewest && known !== undefined) return known; // its row may be gone
      throw error;
    }
  }
}

function nowText(name: string, node: Node | null): string {
  if (node === null) return `there is no node "${name}"`;
  const since = String(ageText(node.status_since, Date.now()));
  return `${name} is ${node.status} since ${since}${node.status_reason === null ? '' : `: ${node.status_reason}`}`;
}
