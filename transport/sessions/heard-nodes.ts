/** Nodes that were heard since somebody looked last, for `last_seen_at`. */
import type { NodeId } from '../protocol/ids.ts';

/** A node, and when it was heard last, in Unix ms. */
export interface HeardNode {
  readonly node: NodeId;
  readonly atMs: number;
}

/** Nobody was heard at first. */
export class HeardNodes {
  /** Nodes whose session ended since the last look. One entry a node. */
  readonly #left = new Map<NodeId, number>();
  #sinceMs = 0;

  /** The session of a node ended, which was heard last at this time. */
  left(node: NodeId, atMs: number): void {
    this.#left.set(node, atMs);
  }

  /** Those heard since the last call. `live`: with a session now. */
  take(live: Iterable<{ readonly node: NodeId; readonly heardMs: number }>, nowMs: number): readonly HeardNode[] {
    const since = this.#sinceMs;
    this.#sinceMs = nowMs;
    const heard = new Map(this.#left);
    this.#left.clear();
    for (const { node, heardMs } of live) if (heardMs >= since) heard.set(node, heardMs);
    return [...heard].map(([node, atMs]) => ({ node, atMs }));
  }
}
