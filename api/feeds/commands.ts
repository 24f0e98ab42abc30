/** `commands.watch`: one command with its summary and every execution, as they are and as they change. */
import type { Notice } from '../../actors/notice.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { isTerminal, type CommandResource, type CommandSummary } from '../../actors/resources/command.ts';
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { createChangeLog, type ChangeLog, type Patch } from './change-log.ts';
import { createChannel, type Channel } from './channel.ts';
import {
  CHANGES_PER_MESSAGE_MAX,
  CHANNELS_MAX,
  CHANNEL_LINGER_MS,
  FEED_INTERVAL_MS,
  FEED_RETRY_MS,
  REMEMBERED_CHANGES_MAX,
  SNAPSHOT_PAGE_ROWS,
  WATCHED_EXECUTIONS_MAX,
  WATCHED_EXECUTIONS_TOTAL_MAX,
} from './limits.ts';
import { createPacer, type Pacer } from './pace.ts';
import { paged } from './paged.ts';
import type { ExecutionBrief, FeedPorts, OpenExecutionShown } from './ports.ts';
import type { Subscriber, Tracked } from './subscription.ts';

/**
 * A snapshot comes as pages 1 to `pages`: page 1 replaces everything known. Changes are merged by id.
 * `removed` is the last message: the command was deleted.
 */
export type CommandMessage =
  | {
      readonly type: 'snapshot';
      readonly page: number;
      readonly pages: number;
      readonly command: CommandResource;
      readonly executions: readonly ExecutionBrief[];
    }
  | {
      readonly type: 'changed';
      readonly summary: CommandSummary;
      readonly executions: readonly Patch<ExecutionBrief>[];
    }
  | { readonly type: 'removed' };

/** The feed behind `commands.watch`. */
export interface CommandsFeed {
  /** Refuses an unknown command, and one with more than WATCHED_EXECUTIONS_MAX executions. */
  watch(
    command: CommandId,
    subscriber: Subscriber,
  ): Promise<Result<AsyncGenerator<Tracked<CommandMessage>, void, undefined>>>;
  /** Open executions of the commands that are watched. */
  open(): Iterable<OpenExecutionShown>;
  close(): void;
}

type ExecutionChanged = Extract<Notice, { type: 'execution-changed' }>;
type CommandChannel = Channel<ExecutionBrief, CommandMessage>;

interface Watched {
  loaded: CommandChannel | null;
  readonly loading: Promise<Result<CommandChannel>>;
  /** News not told yet: the latest of each execution. */
  readonly news: Map<string, ExecutionChanged>;
  readonly pacer: Pacer;
  removed: boolean;
}

const TOO_LARGE = refuse(
  'bad_request',
  `The command has more than ${WATCHED_EXECUTIONS_MAX} executions, too many to watch. List them instead.`,
);

/** The feed of all commands. Each watched command is read once; after that the notices say all. */
export function createCommandsFeed({ bus, reads, clock, log }: FeedPorts): CommandsFeed {
  const watched = new Map<string, Watched>();
  /** Executions of each, counted from before they are read. */
  const sizes = new Map<string, number>();
  let unsubscribe: (() => void) | null = null;

  function listen(): void {
    unsubscribe ??= bus.subscribe((notices) => {
      const touched = new Set<Watched>();
      for (const notice of notices) {
        if (notice.type !== 'execution-changed' && notice.type !== 'command-removed') continue;
        const one = watched.get(notice.command);
        if (one === undefined) continue;
        if (notice.type === 'command-removed') one.removed = true;
        else one.news.set(notice.execution, notice);
        touched.add(one);
      }
      for (const one of touched) one.pacer.wake();
    });
  }

  function flush(one: Watched): void {
    if (one.loaded === null) return;
    const before = one.loaded.log.head;
    let told = 0;
    for (const [id, news] of one.news) {
      if ((told += 1) > CHANGES_PER_MESSAGE_MAX) break;
      one.news.delete(id);
      put(one.loaded.log, news);
    }
    if (one.loaded.log.head !== before) one.loaded.publish();
    if (one.news.size > 0) one.pacer.wake();
    else if (one.removed) one.loaded.finish({ type: 'removed' });
  }

  async function load(id: CommandId): Promise<Result<CommandChannel>> {
    const command = await reads.get('commands', id);
    if (command === null) return refuse('not_found', 'Resource not found');
    if (command.summary.total > WATCHED_EXECUTIONS_MAX) return TOO_LARGE;
    const others = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    if (others + command.summary.total > WATCHED_EXECUTIONS_TOTAL_MAX)
      return refuse(
        'service_unavailable',
        'Too many executions are watched already. Try again later, or list them instead.',
      );
    if (watched.has(id)) sizes.set(id, command.summary.total);
    const executions = await reads.executionsOf(id, WATCHED_EXECUTIONS_MAX + 1);
    if (executions.length > WATCHED_EXECUTIONS_MAX) return TOO_LARGE;
    const changes = createChangeLog(executions, REMEMBERED_CHANGES_MAX);
    return ok(
      createChannel(
        changes,
        {
          snapshot: (rows) =>
            paged(rows, SNAPSHOT_PAGE_ROWS).map((page, index, all): CommandMessage => ({
              type: 'snapshot',
              page: index + 1,
              pages: all.length,
              command: { ...command, summary: summaryOf(rows) },
              executions: page,
            })),
          changed: ({ patches }): CommandMessage => ({
            type: 'changed',
            summary: summaryOf(changes.values()),
            executions: patches,
          }),
        },
        () => forgetLater(id),
      ),
    );
  }

  function start(id: CommandId): Watched {
    listen();
    const one: Watched = {
      loaded: null,
      news: new Map(),
      removed: false,
      pacer: createPacer(
        clock,
        FEED_INTERVAL_MS,
        () => flush(one),
        (error) => log.error({ error }, 'a command feed failed'),
        FEED_RETRY_MS,
      ),
      loading: load(id).then(
        (result) => {
          if (result.ok) {
            one.loaded = result.value;
            if (one.news.size > 0 || one.removed) one.pacer.wake();
            forgetLater(id);
          } else forget(id);
          return result;
        },
        (error: unknown) => {
          forget(id);
          throw error;
        },
      ),
    };
    watched.set(id, one);
    return one;
  }

  function forgetLater(id: string): void {
    clock.after(CHANNEL_LINGER_MS, () => {
      if (watched.get(id)?.loaded?.readers === 0) forget(id);
    });
  }

  function forget(id: string): void {
    watched.get(id)?.pacer.stop();
    watched.delete(id);
    sizes.delete(id);
    if (watched.size > 0) return;
    unsubscribe?.();
    unsubscribe = null;
  }

  return {
    async watch(command, subscriber) {
      if (!watched.has(command) && watched.size >= CHANNELS_MAX)
        return refuse('service_unavailable', 'Too many commands are watched already. Try again later.');
      const loaded = await (watched.get(command) ?? start(command)).loading;
      return loaded.ok ? ok(loaded.value.read(subscriber)) : loaded;
    },
    *open() {
      for (const [command, { loaded }] of watched) {
        for (const { id, node_id: node, status } of loaded?.log.values() ?? []) {
          if (status === 'pending' || status === 'sent')
            yield { execution: id as ExecutionId, command: command as CommandId, node: node as NodeId, status };
        }
      }
    },
    close() {
      for (const id of watched.keys()) forget(id);
    },
  };
}

// A snapshot may be newer than a notice that comes after it, so an execution never steps back.
function put(log: ChangeLog<ExecutionBrief>, news: ExecutionChanged): void {
  const known = log.get(news.execution);
  if (known !== undefined && (isTerminal(known.status) || (known.status === 'sent' && news.status === 'pending')))
    return;
  log.put({
    id: news.execution,
    node_id: news.node,
    cluster_name: known?.cluster_name ?? news.clusterName,
    status: news.status,
    exit_code: news.exitCode,
  });
}

/** How many executions are in each state. */
export function summaryOf(executions: readonly Pick<ExecutionBrief, 'status' | 'exit_code'>[]): CommandSummary {
  const summary = {
    total: executions.length,
    pending: 0,
    sent: 0,
    completed: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    expired: 0,
    dropped: 0,
  };
  for (const { status, exit_code: exitCode } of executions) {
    summary[status] += 1;
    if (status === 'completed') summary[exitCode === 0 ? 'succeeded' : 'failed'] += 1;
  }
  return summary;
}
