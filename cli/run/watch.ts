/** What the live feeds say, put together on this side. */
import type { Api, Command } from '../service/client.ts';
import { EXIT, Problem } from '../problem.ts';
import { subscribePatiently } from '../../api/client/client.ts';

/** An execution as its command's feed knows it. */
export interface WatchedExecution {
  readonly id: string;
  readonly node_id: string;
  readonly cluster_name: string;
  readonly status: 'pending' | 'sent' | 'completed' | 'cancelled' | 'expired' | 'dropped';
  readonly exit_code: number | null;
}

type CommandMessage =
  | {
      readonly type: 'snapshot';
      readonly page: number;
      readonly pages: number;
      readonly command: Command;
      readonly executions: readonly WatchedExecution[];
    }
  | {
      readonly type: 'changed';
      readonly summary: Command['summary'];
      readonly executions: readonly ({ readonly id: string } & Partial<WatchedExecution>)[];
    }
  | { readonly type: 'removed' };

const DELETED = 'the command was deleted meanwhile';

/** The state of a command after each news. */
export interface CommandState {
  readonly summary: Command['summary'];
  readonly executions: ReadonlyMap<string, WatchedExecution>;
  /** All that were seen to be over, also those that were deleted since. */
  readonly ends: ReadonlyMap<string, WatchedExecution>;
}

/** Whether it has ended, in whichever way. */
export function isOver({ status }: WatchedExecution): boolean {
  return status !== 'pending' && status !== 'sent';
}

/** Those that were seen to end, and were deleted since. None while the pages of a snapshot come. */
export function deletedEnds({ summary, executions, ends }: CommandState): readonly WatchedExecution[] {
  if (executions.size < summary.total) return [];
  return [...ends.values()].filter(({ id }) => !executions.has(id));
}

/**
 * How all of `total` executions went: the service counts none that were deleted. Those of them that were seen to end
 * count as they ended; the rest are in the total alone.
 */
export function wholeSummary(state: CommandState, total: number): Command['summary'] {
  const summary = { ...state.summary, total };
  for (const { status, exit_code: exitCode } of deletedEnds(state)) {
    summary[status] += 1;
    if (status === 'completed') summary[exitCode === 0 ? 'succeeded' : 'failed'] += 1;
  }
  return summary;
}

/**
 * Follows a command until all of its executions are over, or `signal` aborts. `changed` gets the state after each
 * message, with the executions that changed. Rejects when the command cannot be watched, or is deleted.
 */
export function followCommand(
  api: Api,
  id: string,
  signal: AbortSignal,
  changed: (state: CommandState, news: readonly WatchedExecution[]) => void,
): Promise<CommandState | null> {
  return new Promise((resolve, reject) => {
    let state: CommandState | null = null;
    let pagesSeen = 0;
    const executions = new Map<string, WatchedExecution>();
    const ends = new Map<string, WatchedExecution>();
    const end = (finish: () => void): void => {
      signal.removeEventListener('abort', aborted);
      subscription.unsubscribe();
      finish();
    };
    const aborted = (): void => end(() => resolve(state));
    const subscription = subscribePatiently<CommandMessage>(
      (handlers) => api.commands.watch.subscribe({ id }, handlers),
      {
        data(data) {
          if (data.type === 'removed') return end(() => reject(new Problem(DELETED, EXIT.notFound)));
          const news = merge(executions, data);
          for (const execution of news) if (isOver(execution)) ends.set(execution.id, execution);
          if (data.type === 'snapshot') pagesSeen = data.page === data.pages ? Number.POSITIVE_INFINITY : data.page;
          state = { summary: data.type === 'snapshot' ? data.command.summary : data.summary, executions, ends };
          changed(state, news);
          const areAllOver = pagesSeen === Number.POSITIVE_INFINITY && state.summary.pending + state.summary.sent === 0;
          if (areAllOver) end(() => resolve(state));
          return undefined;
        },
        failed: (error) => end(() => reject(error)),
      },
    );
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) aborted();
  });
}

/** The executions of a command as they are now, without their outputs. Rejects with what the service refuses. */
export function executionsNow(api: Api, id: string): Promise<readonly WatchedExecution[]> {
  return new Promise((resolve, reject) => {
    const executions = new Map<string, WatchedExecution>();
    const end = (finish: () => void): void => {
      subscription.unsubscribe();
      finish();
    };
    const subscription = subscribePatiently<CommandMessage>(
      (handlers) => api.commands.watch.subscribe({ id }, handlers),
      {
        data(data) {
          if (data.type === 'removed') return end(() => reject(new Problem(DELETED, EXIT.notFound)));
          merge(executions, data);
          if (data.type === 'snapshot' && data.page === data.pages) end(() => resolve([...executions.values()]));
          return undefined;
        },
        failed: (error) => end(() => reject(error)),
      },
    );
  });
}

/** What became of those that a message tells of. */
function merge(
  executions: Map<string, WatchedExecution>,
  data: Exclude<CommandMessage, { readonly type: 'removed' }>,
): readonly WatchedExecution[] {
  if (data.type === 'snapshot' && data.page === 1) executions.clear();
  return data.executions.map((patch) => {
    const merged = { ...executions.get(patch.id), ...patch } as WatchedExecution;
    executions.set(patch.id, merged);
    return merged;
  });
}
