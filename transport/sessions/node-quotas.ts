/**
 * What a node may cost over all of its sessions: one that is cut, or hangs up, and comes again does not begin anew
 * (L1).
 */
import { FrameWindow } from '../net/frame-window.ts';
import { debtMs, fullBucket, spend, take, type BucketLimits } from '../net/token-bucket.ts';
import type { NodeId } from '../protocol/ids.ts';
import {
  BYTES_BURST_MAX,
  BYTES_PER_SECOND_MAX,
  FRAMES_PER_SECOND_MAX,
  QUOTA_KEPT_MS,
  SESSIONS_BURST_MAX,
  SESSIONS_PER_SECOND_MAX,
} from './limits.ts';

/** What is said of a node that spends more sessions than it has. */
export const TOO_MANY = 'it begins sessions faster than any agent';

/** A token is a byte, a session. */
const BYTES: BucketLimits = { tokensMax: BYTES_BURST_MAX, tokensPerSecond: BYTES_PER_SECOND_MAX };
const SESSIONS: BucketLimits = { tokensMax: SESSIONS_BURST_MAX, tokensPerSecond: SESSIONS_PER_SECOND_MAX };

/** The shares of one node. A class, because there are ten thousand of them. */
export class NodeQuota {
  usedMs: number;
  #toldMs = -Infinity;
  readonly #frames = new FrameWindow(FRAMES_PER_SECOND_MAX);
  #bytes = fullBucket(BYTES);
  #sessions = fullBucket(SESSIONS);

  constructor(nowMs: number) {
    this.usedMs = nowMs;
  }

  /** One more frame. False: there were too many. */
  takeFrame(nowMs: number): boolean {
    this.usedMs = nowMs;
    return this.#frames.take(1, nowMs);
  }

  /** Takes bytes. Answers how long the share is used up for, in ms. */
  takeBytes(bytes: number, nowMs: number): number {
    this.#bytes = spend(this.#bytes, BYTES, bytes, nowMs);
    return debtMs(this.#bytes, BYTES);
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
    const { isTaken, bucket } = take(this.#sessions, SESSIONS, 1, nowMs);
    this.#sessions = bucket;
    return isTaken;
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
