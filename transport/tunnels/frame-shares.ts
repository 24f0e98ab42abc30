/**
 * What nodes may say on their tunnels, over all that they have and had lately: a node whose tunnel was cut for a flood
 * does not begin anew with the next one, and is left alone for a moment (L1).
 */
import type { NodeId } from '../protocol/ids.ts';
import { createFrameQuota, FrameShare, type FrameQuota } from './frame-quota.ts';
import { CUT_TUNNEL_AGAIN_MS } from './limits.ts';

interface Share {
  readonly frames: FrameShare;
  usedMs: number;
  cutMs: number;
}

/** The shares of all nodes that had a tunnel lately. */
export class FrameShares {
  readonly #shares = new Map<NodeId, Share>();

  /** Nodes that are remembered. */
  get count(): number {
    return this.#shares.size;
  }

  /** For one more tunnel of this node. `cut` is told when it is over its share. */
  quotaOf(node: NodeId, nowMs: number, cut: () => void): FrameQuota {
    const share = this.#shares.get(node) ?? { frames: new FrameShare(), usedMs: nowMs, cutMs: -Infinity };
    this.#shares.set(node, share);
    const quota = createFrameQuota(share.frames);
    return {
      ...quota,
      take: (chunk, atMs) => {
        share.usedMs = atMs;
        const pieces = quota.take(chunk, atMs);
        if (pieces !== null) return pieces;
        if (atMs - share.cutMs >= CUT_TUNNEL_AGAIN_MS) cut();
        share.cutMs = atMs;
        return null;
      },
    };
  }

  /** Whether a tunnel of this node was cut a moment ago. */
  wasCut(node: NodeId, nowMs: number): boolean {
    return nowMs - (this.#shares.get(node)?.cutMs ?? -Infinity) < CUT_TUNNEL_AGAIN_MS;
  }

  /** Forgets those that nobody `has` and that are whole again. To be called now and then. */
  sweep(nowMs: number, has: (node: NodeId) => boolean): void {
    for (const [node, { usedMs }] of this.#shares)
      if (nowMs - usedMs >= CUT_TUNNEL_AGAIN_MS && !has(node)) this.#shares.delete(node);
  }
}
