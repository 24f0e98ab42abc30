/**
 * The nodes that feeds hold, each once for all filters, and how reads of them go side by side: what is read takes a
 * while, and news of a node that comes meanwhile is not undone by what was read before it.
 */
import type { Filter } from '../../actors/filters.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { changedFields, type ChangeLog } from './change-log.ts';
import { createCompactor } from './compact-node.ts';
import { CHANGES_PER_MESSAGE_MAX, READ_PAGE_ROWS } from './limits.ts';
import { matchesNode } from './node-filter.ts';
import type { FeedReads } from './ports.ts';

/** The nodes of one filter. */
export interface NodeLog {
  readonly filters: readonly Filter[];
  readonly log: ChangeLog<NodeResource>;
  /** Tells its readers what changed in it. */
  publish(): void;
}

/** The nodes of all filters. */
export class HeldNodes {
  readonly #reads: FeedReads;
  readonly #logs: () => Iterable<NodeLog>;
  readonly #compact = createCompactor();
  /** News of these is not told yet. */
  readonly #changed = new Set<string>();
  /** Of each reading that is under way: nodes that were told of since it began. */
  readonly #readings = new Set<Set<string>>();
  /** Changed nodes that are being read, without those that a page told of meanwhile: who knows which was first? */
  readonly #flushing = new Set<string>();

  /** `logs`: those that are loaded, and those that load as far as they are. */
  constructor(reads: FeedReads, logs: () => Iterable<NodeLog>) {
    this.#reads = reads;
    this.#logs = logs;
  }

  /** How many changed nodes are still to be told of. */
  get waiting(): number {
    return this.#changed.size;
  }

  changed(id: string): void {
    this.#changed.add(id);
  }

  /** News was left out: what is being read of changed nodes may be from before that, so they are read once more. */
  readAgain(): void {
    for (const id of this.#flushing) this.#unsettle(id);
  }

  /** None is watched any more. */
  clear(): void {
    this.#changed.clear();
  }

  /**
   * Reads, and takes what was read in the same turn. `told`: nodes of which something was told meanwhile, so that what
   * was read may be older.
   */
  async reading<T, R>(read: () => Promise<T>, take: (read: T, told: ReadonlySet<string>) => R): Promise<R> {
    const told = new Set<string>();
    this.#readings.add(told);
    try {
      return take(await read(), told);
    } finally {
      this.#readings.delete(told);
    }
  }

  /** Those of a page that a log takes. Of others what it has is newer; all that may be old are read again. */
  taken(
    log: ChangeLog<NodeResource>,
    rows: readonly NodeResource[],
    told: ReadonlySet<string>,
  ): readonly NodeResource[] {
    return rows.flatMap((row) => {
      if (told.has(row.id)) this.#changed.add(row.id);
      if (told.has(row.id) && log.get(row.id) !== undefined) return [];
      this.#unsettle(row.id);
      return [this.#shared(row)];
    });
  }

  /** Reads some of the nodes that changed, for all logs. When it rejects they are still to be told. */
  async flush(): Promise<void> {
    const ids = [...this.#changed].slice(0, CHANGES_PER_MESSAGE_MAX);
    for (const id of ids) {
      this.#changed.delete(id);
      this.#flushing.add(id);
    }
    try {
      const nodes = await this.#byId(ids);
      for (const told of this.#readings) for (const id of ids) told.add(id);
      for (const one of this.#logs()) apply(one, this.#flushing, nodes);
    } catch (error) {
      for (const id of ids) this.#changed.add(id);
      throw error;
    } finally {
      this.#flushing.clear();
    }
  }

  /**
   * Reads a log as at its start, page by page: news was left out. That a node was seen again is no change. `isWanted`:
   * whether it still is.
   */
  async renew(one: NodeLog, isWanted: () => boolean): Promise<void> {
    const unseen = new Set(one.log.ids());
    const since = new Set<string>();
    this.#readings.add(since);
    try {
      for (let after: string | null = null, isMore = true; isMore && isWanted();) {
        const page = await this.#reads.nodesAfter(one.filters, after, READ_PAGE_ROWS);
        const before = one.log.head;
        for (const row of page.rows) {
          unseen.delete(row.id);
          this.#renewed(one.log, row, since);
        }
        after = page.next;
        isMore = after !== null;
        if (!isMore && isWanted()) this.#removeAll(one.log, unseen, since);
        if (one.log.head !== before) one.publish();
      }
    } finally {
      this.#readings.delete(since);
    }
  }

  #renewed(log: ChangeLog<NodeResource>, row: NodeResource, told: ReadonlySet<string>): void {
    if (told.has(row.id)) {
      this.#changed.add(row.id);
      return;
    }
    const known = log.get(row.id);
    if (known !== undefined && isKnown(row, known)) return;
    this.#unsettle(row.id);
    log.put(this.#shared(row));
  }

  #removeAll(log: ChangeLog<NodeResource>, ids: Iterable<string>, told: ReadonlySet<string>): void {
    for (const id of ids) {
      if (told.has(id)) continue;
      this.#unsettle(id);
      log.remove(id);
    }
  }

  /** What is being read of this changed node may be older than what is told of it now: it is read once more. */
  #unsettle(id: string): void {
    if (this.#flushing.delete(id)) this.#changed.add(id);
  }

  /** The same as other filters hold already, where they hold it. */
  #shared(row: NodeResource): NodeResource {
    for (const { log } of this.#logs()) {
      const known = log.get(row.id);
      if (known !== undefined && isKnown(row, known)) return known;
    }
    return this.#compact(row);
  }

  async #byId(ids: readonly string[]): Promise<ReadonlyMap<string, NodeResource>> {
    if (ids.length === 0) return new Map();
    const { rows } = await this.#reads.list('nodes', {
      filters: [{ field: 'node_id', op: 'in', value: ids }],
      sort: [],
      page: 1,
      pageSize: ids.length,
    });
    return new Map(rows.map((node) => [node.id, this.#compact(node)]));
  }
}

function apply(one: NodeLog, ids: Iterable<string>, nodes: ReadonlyMap<string, NodeResource>): void {
  const before = one.log.head;
  for (const id of ids) {
    const node = nodes.get(id);
    if (node !== undefined && matchesNode(node, one.filters)) one.log.put(node);
    else one.log.remove(id);
  }
  if (one.log.head !== before) one.publish();
}

/** That it was seen again is no change. */
function isKnown(node: NodeResource, known: NodeResource): boolean {
  return changedFields(known, node).every((field) => field === 'last_seen_at');
}
