/** The nodes that a page knows, kept as `nodes.watch` tells them. No browser is needed for it. */
import type { NodesMessage } from '../../api/feeds/nodes-messages.ts';
import type { NodeResource } from '../../actors/resources/node.ts';

/** How far a snapshot has come. */
export interface Progress {
  readonly known: number;
  readonly total: number;
}

/** Changes that are kept while nobody looks; who comes back later looks at all rows again. */
export const CHANGES_KEPT_MAX = 20_000;

/** A row that came (no `before`), went (no `after`) or became another one. */
export interface RowChange {
  readonly before: NodeResource | undefined;
  readonly after: NodeResource | undefined;
}

/** Nodes by their ids. A row that changed is another object, and one that did not is the same. */
export class NodeRows {
  #rows = new Map<string, NodeResource>();
  /** The snapshot that is coming; null: none is. What was known before stands until it is whole. */
  #coming: { readonly rows: Map<string, NodeResource>; readonly total: number } | null = null;
  #isWhole = false;
  #changes: RowChange[] = [];
  /** How many changes there were before the first one that is kept. */
  #changesBefore = 0;
  /** How many there were at the last look. */
  #lookedAt = 0;

  /** How many changes there were: what `changesSince` is asked with later. */
  get position(): number {
    return this.#changesBefore + this.#changes.length;
  }

  /**
   * What changed since then, in order. Null: all rows are to be looked at again, as so much changed, or as others
   * looked twice meanwhile. All who look do so once a frame: what came before the look before this one is forgotten.
   */
  changesSince(position: number): readonly RowChange[] | null {
    const changes = position < this.#changesBefore ? null : this.#changes.slice(position - this.#changesBefore);
    this.#forgetTo(this.#lookedAt);
    this.#lookedAt = this.position;
    return changes;
  }

  /** Whether a whole snapshot came since the beginning. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Of the snapshot that is coming; null: none is. */
  get progress(): Progress | null {
    return this.#coming === null ? null : { known: this.#coming.rows.size, total: this.#coming.total };
  }

  get size(): number {
    return this.#rows.size;
  }

  get(id: string): NodeResource | undefined {
    return this.#rows.get(id);
  }

  values(): IterableIterator<NodeResource> {
    return this.#rows.values();
  }

  /** Takes one message. A change that comes amid a snapshot is of the rows that the snapshot will be. */
  apply(message: NodesMessage): void {
    if (message.type === 'snapshot') {
      if (message.page === 1 || this.#coming === null) this.#coming = { rows: new Map(), total: message.total };
      for (const node of message.nodes) this.#coming.rows.set(node.id, node);
      if (message.page < message.pages) return;
      this.#rows = this.#coming.rows;
      this.#coming = null;
      this.#isWhole = true;
      this.#forgetChanges();
      return;
    }
    const rows = this.#coming?.rows ?? this.#rows;
    for (const patch of message.nodes) {
      const before = rows.get(patch.id);
      // a patch of a node that nobody knows is all of it
      const after = before === undefined ? (patch as NodeResource) : { ...before, ...patch };
      rows.set(patch.id, after);
      this.#changes.push({ before, after });
    }
    for (const id of message.removed) {
      const before = rows.get(id);
      if (rows.delete(id)) this.#changes.push({ before, after: undefined });
    }
    // of a snapshot that is coming nothing is drawn
    if (this.#coming !== null) this.#forgetChanges();
    else if (this.#changes.length > CHANGES_KEPT_MAX) this.#forgetTo(this.position - CHANGES_KEPT_MAX / 2);
  }

  /** Forgets all: another filter is watched from now on. */
  clear(): void {
    this.#rows = new Map();
    this.#coming = null;
    this.#isWhole = false;
    this.#forgetChanges();
  }

  #forgetTo(position: number): void {
    if (position <= this.#changesBefore) return;
    this.#changes = this.#changes.slice(position - this.#changesBefore);
    this.#changesBefore = position;
  }

  /** Everybody looks at all rows again. */
  #forgetChanges(): void {
    this.#changesBefore = this.position + 1;
    this.#changes = [];
  }
}
