/** A fleet whose reads are answered one by one, in whatever order a test wants. */
import type { Filter } from '../../../actors/filters.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { FEED_INTERVAL_MS, FEED_RETRY_MS, RESYNC_EVERY_MS } from '../../../api/feeds/limits.ts';
import { matchesNode } from '../../../api/feeds/node-filter.ts';
import type { NodesMessage } from '../../../api/feeds/nodes-messages.ts';
import { createFixture, granted, idOf, nodeId, nodeOf, settle, type Fixture } from './rows.ts';

/** One who watches, and what it knows. */
export interface Watcher {
  readonly filters: readonly Filter[];
  readonly messages: NodesMessage[];
  readonly ids: string[];
  readonly state: Map<string, NodeResource>;
  readonly ended: Promise<void>;
  /** It ended by a failure. */
  hasFailed: boolean;
  cut(): void;
}

/** Nodes 0, 2, 4 … of a fixture whose reads are answered one by one. */
export class GatedFleet {
  readonly fixture: Fixture = createFixture();
  /** Readings that wait for their answers, oldest first. */
  readonly #readings: PromiseWithResolvers<void>[] = [];
  #isSilent = false;

  constructor(count: number) {
    for (let n = 0; n < count; n += 1) this.add(n, true);
    this.fixture.listed = () => {
      const reading = Promise.withResolvers<void>();
      this.#readings.push(reading);
      return reading.promise;
    };
  }

  rows(filters: readonly Filter[] = []): Map<string, NodeResource> {
    return new Map([...this.fixture.nodes].filter(([, node]) => matchesNode(node, filters)));
  }

  add(n: number, isFirst = false): void {
    this.fixture.nodes.set(idOf(2 * n), nodeOf(2 * n));
    if (!isFirst) this.#tell(n, 'node-changed');
  }

  change(n: number, changes: Partial<NodeResource>): void {
    this.fixture.nodes.set(idOf(2 * n), { ...(this.fixture.nodes.get(idOf(2 * n)) ?? nodeOf(2 * n)), ...changes });
    this.#tell(n, 'node-changed');
  }

  remove(n: number): void {
    this.fixture.nodes.delete(idOf(2 * n));
    this.#tell(n, 'node-removed');
  }

  silently(act: () => void): void {
    this.#isSilent = true;
    act();
    this.#isSilent = false;
  }

  miss(): void {
    this.fixture.bus.publish([{ type: 'missed', what: 'nodes' }]);
  }

  tellOrMiss(isTold: boolean, act: () => void): void {
    if (isTold) act();
    else {
      this.silently(act);
      this.miss();
    }
  }

  /** Lets one that waits have its answer, and what follows of it happen. */
  async answer(index: number): Promise<void> {
    await settle();
    this.#readings.splice(index, 1)[0]?.resolve();
    await settle();
  }

  /** The oldest of those that wait gets none. */
  async fail(): Promise<void> {
    this.#readings.shift()?.reject(new DatabaseUnavailable('the database is away'));
    await settle();
  }

  /** Answers everything until nothing is asked any more. */
  async finish(watchers: Watcher[] = []): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet += 1) {
      await settle();
      while (this.#readings.length > 0) {
        await this.answer(0);
        quiet = 0;
      }
      await this.returned(watchers);
      for (const ms of [FEED_INTERVAL_MS, FEED_RETRY_MS, RESYNC_EVERY_MS]) {
        this.fixture.clock.advance(ms);
        await settle();
      }
    }
  }

  watch(filters: readonly Filter[] = [], lastEventId?: string, state: Map<string, NodeResource> = new Map()): Watcher {
    const controller = new AbortController();
    const watcher: Watcher = {
      filters,
      messages: [],
      ids: [],
      state,
      hasFailed: false,
      ended: this.#read(filters, { lastEventId, signal: controller.signal }, (id, message) => {
        watcher.ids.push(id);
        watcher.messages.push(message);
        merge(state, message);
      }),
      cut: () => controller.abort(),
    };
    watcher.ended.catch(() => (watcher.hasFailed = true));
    return watcher;
  }

  /** Has one go on where it was. */
  async back(watchers: Watcher[], gone: Watcher): Promise<void> {
    await settle();
    const index = watchers.indexOf(gone);
    watchers[index] = this.watch(gone.filters, gone.ids.at(-1), gone.state);
  }

  /** Those whose feed failed come back, as clients do. */
  async returned(watchers: Watcher[]): Promise<void> {
    for (const one of watchers) if (one.hasFailed) await this.back(watchers, one);
  }

  async #read(
    filters: readonly Filter[],
    subscriber: { readonly lastEventId: string | undefined; readonly signal: AbortSignal },
    told: (id: string, message: NodesMessage) => void,
  ): Promise<void> {
    for await (const { id, data } of await granted(this.fixture.feeds.nodes.watch(filters, subscriber))) {
      if (subscriber.signal.aborted) return;
      told(id, data);
    }
  }

  #tell(n: number, type: 'node-changed' | 'node-removed'): void {
    if (!this.#isSilent) this.fixture.bus.publish([{ type, node: nodeId(2 * n) }]);
  }
}

/** What a client makes of a message. */
function merge(state: Map<string, NodeResource>, message: NodesMessage): void {
  if (message.type === 'snapshot' && message.page === 1) state.clear();
  for (const node of message.nodes) state.set(node.id, { ...state.get(node.id), ...node } as NodeResource);
  if (message.type === 'changed') for (const id of message.removed) state.delete(id);
}
