/** What an agent may say on its tunnel besides bytes of streams (L1): HTTP/2 bounds some floods and not others. */
import { FrameWindow } from '../net/frame-window.ts';
import type { Passing, Piece } from '../net/streams/paced-pieces.ts';
import { debtMs, fullBucket, spend, type BucketLimits, type TokenBucket } from '../net/token-bucket.ts';
import { createFramePieces } from './frame-pieces.ts';
import { FRAMES_HANDED_ON_PER_SECOND, FRAMES_PER_SECOND_MAX, PIECE_FRAMES_MAX } from './limits.ts';

/** Frames that are handed on. */
const PACE: BucketLimits = { tokensMax: PIECE_FRAMES_MAX, tokensPerSecond: FRAMES_HANDED_ON_PER_SECOND };

/** Of one tunnel. Is shown all bytes that came, from the first on. */
export interface FrameQuota {
  /**
   * Counts what came, before anybody handles it. In which pieces it is handed on; null: the tunnel is over its share.
   */
  take(chunk: Buffer, nowMs: number): readonly Piece[] | null;
  /** Which of the pieces that wait are handed on now. */
  pass(waiting: readonly Piece[], nowMs: number): Passing;
}

/** The share of one node, over all of its tunnels: one that is cut does not begin anew with the next. */
export class FrameShare {
  readonly #came = new FrameWindow(FRAMES_PER_SECOND_MAX);
  #pace: TokenBucket = fullBucket(PACE);

  /** So many frames came. False: these are too many. */
  take(frames: number, nowMs: number): boolean {
    return frames === 0 || this.#came.take(frames, nowMs);
  }

  /** One time for all: whoever is slow to handle a piece is not given the next one for it. */
  pass(waiting: readonly Piece[], nowMs: number): Passing {
    this.#pace = spend(this.#pace, PACE, 0, nowMs);
    let count = 0;
    for (const { cost } of waiting) {
      const waitMs = debtMs(this.#pace, PACE);
      if (waitMs > 0) return { count, waitMs };
      this.#pace = spend(this.#pace, PACE, cost, nowMs);
      count += 1;
    }
    return { count, waitMs: 0 };
  }
}

/** Counts what comes in one tunnel. */
export function createFrameQuota(share: FrameShare = new FrameShare()): FrameQuota {
  const piecesOf = createFramePieces();
  return {
    take: (chunk, nowMs) => {
      const pieces = piecesOf(chunk);
      const frames = pieces.reduce((sum, { cost }) => sum + cost, 0);
      return share.take(frames, nowMs) ? pieces : null;
    },
    pass: (waiting, nowMs) => share.pass(waiting, nowMs),
  };
}
