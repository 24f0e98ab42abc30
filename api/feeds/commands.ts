/** `commands.watch`: one command with its summary and every execution, as they are and as they change. */
import type { Notice } from '../../actors/notice.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { isTerminal, type CommandResource, type CommandSummary } from '../../actors/resources/command.ts';
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { createChangeLog, type ChangeLog, type Patch } from './change-log.ts';
import { createChannel, type Channel, type Wording } from './channel.ts';
import {
  CHANGES_PER_MESSAGE_MAX,
  CHANNELS_MAX,
  CHANNEL_LINGER_MS,
  FEED_INTERVAL_MS,
  FEED_RETRY_MS,
  REMEMBERED_CHANGES_MAX,
  RESYNC_EVERY_MS,
  WATCHED_EXECUTIONS_MAX,
  WATCHED_EXECUTIONS_TOTAL_MAX,
} from './limits.ts';
import { createPacer, type Pacer } from './pace.ts';
import type { ExecutionBrief, FeedPorts, OpenExecutionShown } from './ports.ts';
import type { Subscriber, Tracked } from './subscription.ts';

/**
 * A snapshot comes as pages 1 to `pages`: page 1 replaces everything known. Changes are merged by id. Which nodes a
 * command names stands in its first and last page alone, as that may be longer than all else.
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

type ExecutionNews = Extract<Notice, { type: 'execution-changed' | 'execution-removed' }>;
type CommandChannel = Channel<ExecutionBrief, CommandMessage>;

interface Watched {
  loaded: CommandChannel | null;
  readonly loading: Promise<Result<CommandChannel>>;
  /** News not told yet: the latest of each execution. */
  readonly news: Map<string, ExecutionNews>;
  readonly pacer: Pacer;
  removed: boolean;
}

const TOO_LARGE = refuse(
  'bad_request',
  `The command has more than ${WATCHED_EXECUTIONS_MAX} executions, too many to watch. List them instead.`,
);

/** The feed of all commands. Each watched command is read once; after that the notices say all. */
export class CommandsFeed {
  readonly #ports: FeedPorts;
  readonly #watched = new Map<string, Watched>();
  /** Executions of each, counted from before they are read. */
  readonly #sizes = new Map<string, number>();
  /** Looks which of them are gone, now and then at most. Their executions are read by whoever counts them. */
  readonly #resyncs: Pacer;
  #unsubscribe: (() => void) | null = null;

  constructor(ports: FeedPorts) {
    this.#ports = ports;
    this.#resyncs = createPacer(
      ports.clock,
      RESYNC_EVERY_MS,
      () => this.#resync(),
      (error) => ports.log.warn({ error }, 'watched commands could not be read; trying again'),
      FEED_RETRY_MS,
    );
  }

  /** Refuses an unknown command, and one with more than WATCHED_EXECUTIONS_MAX executions. */
  async watch(
    command: CommandId,
    subscriber: Subscriber,
  ): Promise<Result<AsyncGenerator<Tracked<CommandMessage>, void, undefined>>> {
    if (!this.#watched.has(command) && this.#watched.size >= CHANNELS_MAX)
      return refuse('service_unavailable', 'Too many commands are watched already. Try again later.');
    const loaded = await (this.#watched.get(command) ?? this.#start(command)).loading;
    return loaded.ok ? ok(loaded.value.read(subscriber)) : loaded;
  }

  /** Open executions of the commands that are watched. */
  *open(): Iterable<OpenExecutionShown> {
    for (const [command, { loaded }] of this.#watched) {
      for (const { id, node_id: node, status } of loaded?.log.values() ?? []) {
        if (status === 'pending' || status === 'sent')
          yield { execution: id as ExecutionId, command: command as CommandId, node: node as NodeId, status };
      }
    }
  }

  /** Commands that are watched, or were a moment ago. */
  *watched(): Iterable<CommandId> {
    for (const id of this.#watched.keys()) yield id as CommandId;
  }

  close(): void {
    this.#resyncs.stop();
    for (const id of this.#watched.keys()) this.#forget(id);
  }

  #start(id: CommandId): Watched {
    const { clock, log } = this.#ports;
    this.#listen();
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
      loading: this.#load(id).then(
        (result) => {
          if (result.ok) {
            one.loaded = result.value;
            if (one.news.size > 0 || one.removed) one.pacer.wake();
            this.#forgetLater(id);
          } else this.#forget(id);
          return result;
        },
        (error: unknown) => {
          this.#forget(id);
          throw error;
        },
      ),
    };
    this.#watched.set(id, one);
    this.#ports.wantedChanged();
    return one;
  }

  #listen(): void {
    this.#unsubscribe ??= this.#ports.news.subscribe((notices) => {
      const touched = new Set<Watched>();
      for (const notice of notices) {
        if (notice.type === 'missed' && notice.what === 'commands') this.#resyncs.wake();
        if (!('command' in notice) || notice.type === 'command-created') continue;
        const one = this.#watched.get(notice.command);
        if (one === undefined) continue;
        if (notice.type === 'command-removed') one.removed = true;
        else one.news.set(notice.execution, notice);
        touched.add(one);
      }
      for (const one of touched) one.pacer.wake();
    });
  }

  async #resync(): Promise<void> {
    const asked = [...this.watched()];
    const there = await this.#ports.reads.existingCommands(asked);
    for (const id of asked) {
      const one = this.#watched.get(id);
      if (there.has(id) || one === undefined) continue;
      one.removed = true;
      one.pacer.wake();
    }
  }

  async #load(id: CommandId): Promise<Result<CommandChannel>> {
    const { reads } = this.#ports;
    const command = await reads.get('commands', id);
    if (command === null) return refuse('not_found', 'Resource not found');
    if (command.summary.total > WATCHED_EXECUTIONS_MAX) return TOO_LARGE;
    const others = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    if (others + command.summary.total > WATCHED_EXECUTIONS_TOTAL_MAX)
      return refuse(
        'service_unavailable',
        'Too many executions are watched already. Try again later, or list them instead.',
      );
    if (this.#watched.has(id)) this.#sizes.set(id, command.summary.total);
    const executions = await reads.executionsOf(id, WATCHED_EXECUTIONS_MAX + 1);
    if (executions.length > WATCHED_EXECUTIONS_MAX) return TOO_LARGE;
    const changes = createChangeLog(executions, REMEMBERED_CHANGES_MAX);
    return ok(createChannel(changes, wordingOf(command, changes), () => this.#forgetLater(id)));
  }

  #forgetLater(id: string): void {
    this.#ports.clock.after(CHANNEL_LINGER_MS, () => {
      if (this.#watched.get(id)?.loaded?.readers === 0) this.#forget(id);
    });
  }

  #forget(id: string): void {
    this.#watched.get(id)?.pacer.stop();
    this.#watched.delete(id);
    this.#sizes.delete(id);
    this.#ports.wantedChanged();
    if (this.#watched.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
  }
}

function wordingOf(
  command: CommandResource,
  changes: ChangeLog<ExecutionBrief>,
): Wording<ExecutionBrief, CommandMessage> {
  let counted: { readonly head: number; readonly summary: CommandSummary } | null = null;
  const summary = (): CommandSummary => {
    if (counted?.head !== changes.head) counted = { head: changes.head, summary: summaryOf(changes.values()) };
    return counted.summary;
  };
  const { node_ids: _named, ...targeting } = command.targeting;
  const between = { ...command, targeting };
  return {
    page: (executions, { page, pages }) => ({
      type: 'snapshot',
      page,
      pages,
      command: { ...(page === 1 || page === pages ? command : between), summary: summary() },
      executions,
    }),
    changed: ({ patches }) => ({ type: 'changed', summary: summary(), executions: patches }),
  };
}

/** Tells some of the news, and the end after the last of them. */
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

// A snapshot may be newer than a notice that comes after it, so an execution never steps back.
function put(log: ChangeLog<ExecutionBrief>, news: ExecutionNews): void {
  const known = log.get(news.execution);
  if (news.type === 'execution-removed') {
    if (log.remove(news.execution)) log.forget(); // no message of changes names what is gone
    return;
  }
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
export function summaryOf(executions: Iterable<Pick<ExecutionBrief, 'status' | 'exit_code'>>): CommandSummary {
  const summary = {
    total: 0,
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
    summary.total += 1;
    summary[status] += 1;
    if (status === 'completed') summary[exitCode === 0 ? 'succeeded' : 'failed'] += 1;
  }
  return summary;
}
