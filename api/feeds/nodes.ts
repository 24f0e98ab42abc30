/** `nodes.watch`: the nodes that match a filter, as they are and as they change. */
import type { Filter } from '../../actors/filters.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { createChangeLog } from './change-log.ts';
import { createChannel, type Channel } from './channel.ts';
import {
  CHANNELS_MAX,
  CHANNEL_LINGER_MS,
  FEED_INTERVAL_MS,
  FEED_RETRY_MS,
  READ_PAGE_ROWS,
  REMEMBERED_CHANGES_MAX,
  RESYNC_EVERY_MS,
  WATCHED_NODES_MAX,
  WATCHED_NODES_TOTAL_MAX,
} from './limits.ts';
import { HeldNodes, type NodeLog } from './held-nodes.ts';
import { filtersKey } from './node-filter.ts';
import { NODES_WORDING, type NodesMessage } from './nodes-messages.ts';
import { createPacer, type Pacer } from './pace.ts';
import type { FeedPorts } from './ports.ts';
import type { Subscriber, Tracked } from './subscription.ts';

type NodeChannel = Channel<NodeResource, NodesMessage>;
/** The channel of one filter, or why there is none. */
type Begun = Result<NodeChannel>;

interface Watched {
  readonly key: string;
  readonly filters: readonly Filter[];
  /** Rejects, and is forgotten, when the database fails. */
  readonly beginning: Promise<Begun>;
  /** Null until its first page was read. */
  channel: NodeChannel | null;
  /** How many there will be when all are loaded. */
  expected: number;
  isLoading: boolean;
  /** News was left out while it loads: what was read may be from before that. */
  isStale: boolean;
}

/** The feed of all nodes of this admin. Reads each changed node once, for all filters and subscribers. */
export class NodesFeed {
  readonly #ports: FeedPorts;
  readonly #watched = new Map<string, Watched>();
  readonly #held: HeldNodes;
  readonly #pacer: Pacer;
  /** Lets all be read anew, now and then at most. */
  readonly #resyncs: Pacer;
  #unsubscribe: (() => void) | null = null;

  constructor(ports: FeedPorts) {
    this.#ports = ports;
    this.#held = new HeldNodes(ports.reads, () => this.#logs());
    this.#pacer = createPacer(
      ports.clock,
      FEED_INTERVAL_MS,
      () => this.#flush(),
      (error) => ports.log.warn({ error }, 'changed nodes could not be read; trying again'),
      FEED_RETRY_MS,
    );
    this.#resyncs = createPacer(
      ports.clock,
      RESYNC_EVERY_MS,
      () => this.#resync(),
      (error) => ports.log.warn({ error }, 'nodes could not be read anew; trying again'),
      FEED_RETRY_MS,
    );
  }

  /**
   * Filters are those of `list_nodes`, decided again at each change of the node; the passing of time alone changes
   * nothing, and `last_seen_at` alone is no change. Refuses more than WATCHED_NODES_MAX matches. What was read is told
   * while the rest is.
   */
  async watch(
    filters: readonly Filter[],
    subscriber: Subscriber,
  ): Promise<Result<AsyncGenerator<Tracked<NodesMessage>, void, undefined>>> {
    const key = filtersKey(filters);
    if (!this.#watched.has(key) && this.#watched.size >= CHANNELS_MAX)
      return refuse('service_unavailable', 'Too many different filters are watched already. Try again later.');
    const begun = await (this.#watched.get(key) ?? this.#start(key, filters)).beginning;
    return begun.ok ? ok(begun.value.read(subscriber)) : begun;
  }

  /** Whether anybody watches nodes, or did a moment ago. */
  isWatched(): boolean {
    return this.#watched.size > 0;
  }

  close(): void {
    this.#resyncs.stop();
    this.#pacer.stop();
    this.#unsubscribe?.();
    this.#watched.clear();
  }

  #start(key: string, filters: readonly Filter[]): Watched {
    this.#listen();
    const beginning = Promise.withResolvers<Begun>();
    const one: Watched = {
      key,
      filters,
      beginning: beginning.promise,
      channel: null,
      expected: 0,
      isLoading: true,
      isStale: false,
    };
    this.#watched.set(key, one);
    if (this.#watched.size === 1) this.#ports.wantedChanged();
    void this.#load(one, beginning);
    return one;
  }

  #listen(): void {
    this.#unsubscribe ??= this.#ports.news.subscribe((notices) => {
      const before = this.#held.waiting;
      for (const notice of notices) {
        if (notice.type === 'missed' && notice.what === 'nodes') this.#resyncs.wake();
        if (notice.type === 'node-changed' || notice.type === 'node-removed') this.#held.changed(notice.node);
      }
      if (this.#held.waiting > before) this.#pacer.wake();
    });
  }

  /** Never rejects: who waits for the first page, or reads those that are there, is told what went wrong. */
  async #load(one: Watched, { resolve, reject }: PromiseWithResolvers<Begun>): Promise<void> {
    try {
      const begun = await this.#firstPage(one);
      resolve(begun.ok ? ok(begun.value.channel) : begun);
      if (!begun.ok) {
        this.#forget(one);
        return;
      }
      this.#forgetLater(one);
      await this.#furtherPages(one, begun.value);
    } catch (error) {
      this.#forget(one);
      reject(error);
      one.channel?.fail(error);
    }
  }

  /** With it comes how many there are. `next`: behind which id the others are; null: there are none. */
  #firstPage(one: Watched): Promise<Result<{ readonly channel: NodeChannel; readonly next: string | null }>> {
    return this.#held.reading(
      () =>
        this.#ports.reads.list('nodes', {
          filters: one.filters,
          sort: [{ field: 'node_id', descending: false }],
          page: 1,
          pageSize: READ_PAGE_ROWS,
        }),
      ({ rows, totalCount }, told) => {
        const tooMany = this.#tooMany(totalCount);
        if (tooMany !== null) return tooMany;
        const log = createChangeLog<NodeResource>([], REMEMBERED_CHANGES_MAX);
        const channel = createChannel(log, NODES_WORDING, () => this.#forgetLater(one), totalCount);
        one.channel = channel;
        one.expected = totalCount;
        // they may have been counted before they were read
        const isAll = totalCount <= rows.length && rows.length < READ_PAGE_ROWS;
        for (const id of told) this.#held.changed(id); // there was no log yet that took them
        this.#take(channel, rows, told);
        return ok({ channel, next: isAll ? null : (rows.at(-1)?.id ?? null) });
      },
    );
  }

  async #furtherPages(
    one: Watched,
    { channel, next }: { readonly channel: NodeChannel; readonly next: string | null },
  ): Promise<void> {
    for (let after = next; after !== null;) {
      const from: string = after;
      after = await this.#held.reading(
        () => this.#ports.reads.nodesAfter(one.filters, from, READ_PAGE_ROWS),
        (page, told) => {
          this.#take(channel, page.rows, told);
          return page.next;
        },
      );
      if (!this.#isWanted(one)) return;
    }
    channel.loaded();
    while (one.isStale && this.#isWanted(one)) {
      one.isStale = false;
      await this.#renew(one).catch(() => this.#resyncs.wake()); // which says it if that goes wrong too
    }
    one.isLoading = false;
  }

  #take(channel: NodeChannel, rows: readonly NodeResource[], told: ReadonlySet<string>): void {
    channel.load(this.#held.taken(channel.log, rows, told));
    if (this.#held.waiting > 0) this.#pacer.wake();
  }

  #tooMany(count: number): ReturnType<typeof refuse> | null {
    if (count > WATCHED_NODES_MAX)
      return refuse(
        'bad_request',
        `${count} nodes match, and at most ${WATCHED_NODES_MAX} can be watched. Narrow the filters, for example by cluster_name.`,
      );
    const held = [...this.#watched.values()].reduce((sum, one) => sum + sizeOf(one), 0);
    return held + count > WATCHED_NODES_TOTAL_MAX
      ? refuse('service_unavailable', 'Too many nodes are watched already. Narrow the filters or try again later.')
      : null;
  }

  *#logs(): Iterable<NodeLog> {
    for (const { filters, channel } of this.#watched.values())
      if (channel !== null) yield { filters, log: channel.log, publish: () => channel.publish() };
  }

  #isWanted(one: Watched): boolean {
    return this.#watched.get(one.key) === one;
  }

  #forgetLater(one: Watched): void {
    this.#ports.clock.after(CHANNEL_LINGER_MS, () => {
      if (one.channel?.readers === 0) this.#forget(one);
    });
  }

  #forget(one: Watched): void {
    if (!this.#isWanted(one)) return;
    this.#watched.delete(one.key);
    if (this.#watched.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#held.clear();
    this.#ports.wantedChanged();
  }

  async #flush(): Promise<void> {
    await this.#held.flush();
    if (this.#held.waiting > 0) this.#pacer.wake();
  }

  /** Reads all that is watched as at its start: news was left out. */
  async #resync(): Promise<void> {
    const all = [...this.#watched.values()];
    this.#held.readAgain();
    const loaded = all.filter(({ isLoading }) => !isLoading);
    for (const one of all) one.isStale ||= one.isLoading; // it is read anew when it is loaded
    for (const one of loaded) await this.#renew(one);
  }

  async #renew(one: Watched): Promise<void> {
    const { channel, filters } = one;
    if (channel === null) return;
    const log = { filters, log: channel.log, publish: () => channel.publish() };
    await this.#held.renew(log, () => this.#isWanted(one));
    if (this.#held.waiting > 0) this.#pacer.wake();
  }
}

function sizeOf({ channel, expected, isLoading }: Watched): number {
  const size = channel?.log.size ?? 0;
  return isLoading ? Math.max(size, expected) : size;
}
