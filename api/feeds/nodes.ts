/** `nodes.watch`: the nodes that match a filter, as they are and as they change. */
import type { Filter } from '../../actors/filters.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { changedFields, createChangeLog } from './change-log.ts';
import { createChannel, type Channel } from './channel.ts';
import {
  CHANGES_PER_MESSAGE_MAX,
  CHANNELS_MAX,
  CHANNEL_LINGER_MS,
  FEED_INTERVAL_MS,
  FEED_RETRY_MS,
  REMEMBERED_CHANGES_MAX,
  RESYNC_EVERY_MS,
  WATCHED_NODES_MAX,
  WATCHED_NODES_TOTAL_MAX,
} from './limits.ts';
import { filtersKey, matchesNode } from './node-filter.ts';
import { NODES_WORDING, type NodesMessage } from './nodes-messages.ts';
import { createPacer, type Pacer } from './pace.ts';
import type { FeedPorts } from './ports.ts';
import type { Subscriber, Tracked } from './subscription.ts';

/** The feed behind `nodes.watch`. */
export interface NodesFeed {
  /**
   * Filters are those of `list_nodes`, decided again at each change of the node; the passing of time alone changes
   * nothing, and `last_seen_at` alone is no change. Refuses more than WATCHED_NODES_MAX matches.
   */
  watch(
    filters: readonly Filter[],
    subscriber: Subscriber,
  ): Promise<Result<AsyncGenerator<Tracked<NodesMessage>, void, undefined>>>;
  /** Whether anybody watches nodes, or did a moment ago. */
  isWatched(): boolean;
  close(): void;
}

interface Watched {
  readonly filters: readonly Filter[];
  /** Null while it loads. Rejects, and is forgotten, when the database fails. */
  loaded: Channel<NodeResource, NodesMessage> | null;
  readonly loading: Promise<Result<Channel<NodeResource, NodesMessage>>>;
  /** Changes told while it loads: the page may have been read before them. */
  readonly missed: Set<string>;
  /** News was left out while it loads: the page may have been read before that. */
  isStale: boolean;
}

/** The feed of all nodes of this admin. Reads each changed node once, for all filters and subscribers. */
export function createNodesFeed(ports: FeedPorts): NodesFeed {
  return new NodeChannels(ports);
}

class NodeChannels implements NodesFeed {
  readonly #ports: FeedPorts;
  readonly #watched = new Map<string, Watched>();
  readonly #changed = new Set<string>();
  readonly #pacer: Pacer;
  /** Lets all be read anew, now and then at most. */
  readonly #resyncs: Pacer;
  #isStale = false;
  #unsubscribe: (() => void) | null = null;

  constructor(ports: FeedPorts) {
    this.#ports = ports;
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
      () => {
        this.#isStale = true;
        this.#pacer.wake();
      },
      (error) => ports.log.error({ error }, 'nodes cannot be read anew'),
      FEED_RETRY_MS,
    );
  }

  async watch(
    filters: readonly Filter[],
    subscriber: Subscriber,
  ): Promise<Result<AsyncGenerator<Tracked<NodesMessage>, void, undefined>>> {
    const key = filtersKey(filters);
    if (!this.#watched.has(key) && this.#watched.size >= CHANNELS_MAX)
      return refuse('service_unavailable', 'Too many different filters are watched already. Try again later.');
    const loaded = await (this.#watched.get(key) ?? this.#start(key, filters)).loading;
    return loaded.ok ? ok(loaded.value.read(subscriber)) : loaded;
  }

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
    const one: Watched = {
      filters,
      loaded: null,
      missed: new Set(),
      isStale: false,
      loading: this.#load(key, filters).then(
        (result) => {
          if (result.ok) {
            one.loaded = result.value;
            for (const id of one.missed) this.#changed.add(id);
            if (one.isStale) this.#isStale = true;
            if (this.#changed.size > 0 || this.#isStale) this.#pacer.wake();
            this.#forgetLater(key);
          } else this.#forget(key);
          return result;
        },
        (error: unknown) => {
          this.#forget(key);
          throw error;
        },
      ),
    };
    this.#watched.set(key, one);
    if (this.#watched.size === 1) this.#ports.wantedChanged();
    return one;
  }

  #listen(): void {
    this.#unsubscribe ??= this.#ports.news.subscribe((notices) => {
      const before = this.#changed.size;
      for (const notice of notices) {
        if (notice.type === 'missed' && notice.what === 'nodes') this.#resyncs.wake();
        if (notice.type === 'node-changed' || notice.type === 'node-removed') this.#changed.add(notice.node);
      }
      if (this.#changed.size > before) this.#pacer.wake();
    });
  }

  async #load(key: string, filters: readonly Filter[]): Promise<Result<Channel<NodeResource, NodesMessage>>> {
    const { rows, totalCount } = await this.#ports.reads.list('nodes', {
      filters,
      sort: [],
      page: 1,
      pageSize: WATCHED_NODES_MAX,
    });
    if (totalCount > WATCHED_NODES_MAX)
      return refuse(
        'bad_request',
        `${totalCount} nodes match, and at most ${WATCHED_NODES_MAX} can be watched. Narrow the filters, for example by cluster_name.`,
      );
    if (this.#heldNodes() + rows.length > WATCHED_NODES_TOTAL_MAX)
      return refuse(
        'service_unavailable',
        'Too many nodes are watched already. Narrow the filters or try again later.',
      );
    const channel = createChannel<NodeResource, NodesMessage>(
      createChangeLog(rows, REMEMBERED_CHANGES_MAX),
      NODES_WORDING,
      () => this.#forgetLater(key),
    );
    return ok(channel);
  }

  #heldNodes(): number {
    return [...this.#watched.values()].reduce((sum, one) => sum + (one.loaded?.log.size ?? 0), 0);
  }

  #forgetLater(key: string): void {
    this.#ports.clock.after(CHANNEL_LINGER_MS, () => {
      if (this.#watched.get(key)?.loaded?.readers === 0) this.#forget(key);
    });
  }

  #forget(key: string): void {
    this.#watched.delete(key);
    if (this.#watched.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#changed.clear();
    this.#isStale = false;
    this.#ports.wantedChanged();
  }

  async #flush(): Promise<void> {
    if (this.#isStale) await this.#resync();
    const ids = [...this.#changed].slice(0, CHANGES_PER_MESSAGE_MAX);
    for (const id of ids) this.#changed.delete(id);
    const nodes = await this.#readNodes(ids).catch((error: unknown) => {
      for (const id of ids) this.#changed.add(id);
      throw error;
    });
    for (const one of this.#watched.values()) apply(one, ids, nodes);
    if (this.#changed.size > 0) this.#pacer.wake();
  }

  /**
   * Reads all that is watched as at its start: news was left out. Never beside a reading of changed nodes, so that
   * what was read later is told later.
   */
  async #resync(): Promise<void> {
    this.#isStale = false;
    try {
      for (const one of this.#watched.values())
        if (one.loaded === null) one.isStale = true;
        else await this.#renew(one, one.loaded);
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  async #renew({ filters }: Watched, channel: Channel<NodeResource, NodesMessage>): Promise<void> {
    const { rows, totalCount } = await this.#ports.reads.list('nodes', {
      filters,
      sort: [],
      page: 1,
      pageSize: WATCHED_NODES_TOTAL_MAX,
    });
    const { log } = channel;
    const before = log.head;
    const there = new Set(rows.map(({ id }) => id));
    if (totalCount <= rows.length) for (const { id } of log.values()) if (!there.has(id)) log.remove(id);
    for (const node of rows) if (!isKnown(node, log.get(node.id))) log.put(node);
    if (log.head !== before) channel.publish();
  }

  async #readNodes(ids: readonly string[]): Promise<ReadonlyMap<string, NodeResource>> {
    if (ids.length === 0) return new Map();
    const { rows } = await this.#ports.reads.list('nodes', {
      filters: [{ field: 'node_id', op: 'in', value: ids }],
      sort: [],
      page: 1,
      pageSize: ids.length,
    });
    return new Map(rows.map((node) => [node.id, node]));
  }
}

function apply(
  { loaded, filters, missed }: Watched,
  ids: readonly string[],
  nodes: ReadonlyMap<string, NodeResource>,
): void {
  if (loaded === null) {
    for (const id of ids) missed.add(id);
    return;
  }
  const before = loaded.log.head;
  for (const id of ids) {
    const node = nodes.get(id);
    if (node !== undefined && matchesNode(node, filters)) loaded.log.put(node);
    else loaded.log.remove(id);
  }
  if (loaded.log.head !== before) loaded.publish();
}

/** That it was seen again is no change. */
function isKnown(node: NodeResource, known: NodeResource | undefined): boolean {
  return known !== undefined && changedFields(known, node).every((field) => field === 'last_seen_at');
}
