/** `edge wait`. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Command as Program } from 'commander';
import { wordOf } from '../arguments.ts';
import type { Api, Node } from '../client.ts';
import { durationMs } from '../duration.ts';
import { nodeIdOf } from '../node-names.ts';
import { NODE_STATUSES } from '../node-table.ts';
import { tell } from '../output.ts';
import { EXIT, isNotFound, Problem } from '../problem.ts';
import { sessionOf } from '../session.ts';
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
      const { api } = sessionOf(command);
      const startedMs = performance.now();
      const waiting = new Set(names);
      let last = new Map<string, string>();
      for (;;) {
        last = new Map();
        for (const name of waiting) {
          const node = await nodeNow(api, name);
          if (flags.for === (node?.status ?? 'gone')) waiting.delete(name);
          else last.set(name, nowText(name, node));
        }
        if (waiting.size === 0) return;
        if (performance.now() - startedMs + LOOK_MS > timeoutMs) break;
        await pause(LOOK_MS);
      }
      for (const line of last.values()) tell(line);
      throw new Problem(`not ${flags.for} after ${durationText(timeoutMs)}: ${[...waiting].join(', ')}`, EXIT.failed);
    });
}

/** The node as it is now; null: there is none of this name. */
async function nodeNow(api: Api, name: string): Promise<Node | null> {
  try {
    return await api.get_node.query({ id: await nodeIdOf(api, name) });
  } catch (error) {
    if (isNotFound(error) || (error instanceof Problem && error.status === EXIT.notFound)) return null;
    throw error;
  }
}

function nowText(name: string, node: Node | null): string {
  if (node === null) return `there is no node "${name}"`;
  const since = String(ageText(node.status_since, Date.now()));
  return `${name} is ${node.status} since ${since}${node.status_reason === null ? '' : `: ${node.status_reason}`}`;
}
