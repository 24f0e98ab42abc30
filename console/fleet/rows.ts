/** The nodes that a page knows, kept as `nodes.watch` tells them. No browser is needed for it. */
import type { NodesMessage } from '../../api/feeds/nodes.ts';
import type { NodeResource } from '../../actors/resources/node.ts';

/** How far a snapshot has come. */
export interface Progress {
  readonly known: number;
  readonly total: number;
}

/** Nodes by their ids. A row that changed is another object, and one that did not is the same. */
export class NodeRows {
  #rows = new Map<string, NodeResource>();
  /** The snapshot that is coming; null: none is. What was known before stands until it is whole. */
  #coming: { readonly rows: Map<string, NodeResource>; readonly total: number } | null = null;
  #isWhole = false;

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
      return;
    }
    const rows = this.#coming?.rows ?? this.#rows;
    for (const patch of message.nodes) {
      const known = rows.get(patch.id);
      // a patch of a node that nobody knows is all of it
      rows.set(patch.id, known === undefined ? (patch as NodeResource) : { ...known, ...patch });
    }
    for (const id of message.removed) rows.delete(id);
  }

  /** Forgets all: another filter is watched from now on. */
  clear(): void {
    this.#rows = new Map();
    this.#coming = null;
    this.#isWhole = false;
  }
}
