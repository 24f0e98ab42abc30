/**
 * What a node may cost over all of its sessions: one that is cut, or hangs up, and comes again does not begin anew
 * (L1).
 */
import type { NodeId } from '../protocol/ids.ts';
import {
  BYTES_BURST_MAX,
  BYTES_PER_SECOND_MAX,
  FRAMES_BURST_MAX,
  FRAMES_PER_SECOND_MAX,
  QUOTA_KEPT_MS,
  SESSIONS_BURST_MAX,
  SESSIONS_PER_SECOND_MAX,
} from './limits.ts';

/** A share that refills. */
class Share {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #atMs: number;

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#atMs = nowMs;
  }

  /** Takes so much and answers what is left; below zero: it was used up. A clock that was set back refills nothing. */
  take(amount: number, nowMs: number): number {
    this.#left =
      Math.min(this.#burst, this.#left + (Math.max(0, nowMs - this.#atMs) * this.#perSecond) / 1_000) - amount;
    this.#atMs = nowMs;
    return this.#left;
  }

  /** Gives back what was taken beyond the share, so that a flood does not outlast itself. */
  forgive(): void {
    this.#left = Math.max(0, this.#left);
  }
}

/** The shares of one node. A class, because there are ten thousand of them. */
export class NodeQuota {
  usedMs: number;
  #toldMs = -Infinity;
  readonly #frames: Share;
  readonly #bytes: Share;
  readonly #sessions: Share;

  constructor(nowMs: number) {
    this.usedMs = nowMs;
    this.#frames = new Share(FRAMES_BURST_MAX, FRAMES_PER_SECOND_MAX, nowMs);
    this.#bytes = new Share(BYTES_BURST_MAX, BYTES_PER_SECOND_MAX, nowMs);
    this.#sessions = new Share(SESSIONS_BURST_MAX, SESSIONS_PER_SECOND_MAX, nowMs);
  }

  /** One more frame. False: there were too many. */
  takeFrame(nowMs: number): boolean {
    this.usedMs = nowMs;
    if (this.#frames.take(1, nowMs) >= 0) return true;
    this.#frames.forgive();
    return false;
  }

  /** Takes bytes. Answers how long the share is used up for, in ms. */
  takeBytes(bytes: number, nowMs: number): number {
    const left = this.#bytes.take(bytes, nowMs);
    return left >= 0 ? 0 : Math.ceil((-left * 1_000) / BYTES_PER_SECOND_MAX);
  }

  /** Whether its misdeeds are to be told of again, at most once in so many ms. */
  isToBeTold(nowMs: number, everyMs: number): boolean {
    if (nowMs - this.#toldMs < everyMs) return false;
    this.#toldMs = nowMs;
    return true;
  }

  /** One more session. False: there were too many. */
  takeSession(nowMs: number): boolean {
    this.usedMs = nowMs;
    if (this.#sessions.take(1, nowMs) >= 0) return true;
    this.#sessions.forgive();
    return false;
  }
}

/** The quotas of all nodes that were here lately. */
export interface NodeQuotas {
  of(node: NodeId, nowMs: number): NodeQuota;
  /** Forgets those that were not used for so long that they are whole again. To be called now and then. */
  sweep(nowMs: number): void;
  readonly size: number;
}

/** None at first. */
export function createNodeQuotas(): NodeQuotas {
  const quotas = new Map<NodeId, NodeQuota>();
  return {
    of(node, nowMs) {
      const known = quotas.get(node);
      if (known !== undefined) return known;
      const quota = new NodeQuota(nowMs);
      quotas.set(node, quota);
      return quota;
    },
    sweep(nowMs) {
      for (const [node, quota] of quotas) if (nowMs - quota.usedMs > QUOTA_KEPT_MS) quotas.delete(node);
    },
    get size() {
      return quotas.size;
    },
  };
}
