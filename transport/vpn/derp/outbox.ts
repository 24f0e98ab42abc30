/**
 * What waits to be sent over one connection: frames of one turn leave in one write, the next write begins when the last
 * has left, and what is too much is dropped.
 */
import type { Writable } from 'node:stream';

/** Answers and notices that wait at once. They are small, and a peer that reads nothing while it asks gets no more. */
const NOTICES_MAX = 16;

/** How much may wait, and what is given up then: `newest` refuses what comes, `oldest` drops what waited longest. */
export interface OutboxLimits {
  readonly bytesMax: number;
  readonly framesMax: number;
  readonly drops: 'newest' | 'oldest';
  /** Bytes in one write at most, beyond one frame. Those that left are never dropped. */
  readonly writeBytesMax: number;
  /** Called for each frame that was dropped. */
  readonly dropped?: (frame: Buffer) => void;
}

/** Frames on their way out. */
export interface Outbox {
  /** False: this frame was dropped. */
  push(frame: Buffer): boolean;
  /** Goes out before the packets that wait. */
  notice(frame: Buffer): void;
  /** Since when the stream has not taken what it was given, as `performance.now()`; null: it takes. */
  stuckSinceMs(): number | null;
  /** Nothing is written any more. */
  close(): void;
}

/** Makes the outbox of a stream. */
export function createOutbox(
  stream: Writable,
  { bytesMax, framesMax, drops, writeBytesMax, dropped }: OutboxLimits,
): Outbox {
  let frames: Buffer[] = [];
  // frames before it are gone: to shift an array of hundreds with each packet would cost more than the packet
  let head = 0;
  let frameBytes = 0;
  let notices: Buffer[] = [];
  let writtenBytes = 0;
  let writtenAtMs = 0;
  let isFlushing = false;
  let isClosed = false;

  return {
    push(frame) {
      if (isClosed) return false;
      if (
        drops === 'newest' &&
        (frameBytes + writtenBytes + frame.length > bytesMax || frames.length - head >= framesMax)
      ) {
        dropped?.(frame);
        return false;
      }
      frames.push(frame);
      frameBytes += frame.length;
      while ((frameBytes > bytesMax || frames.length - head > framesMax) && frames.length - head > 1) {
        const oldest = frames[head];
        head += 1;
        if (oldest === undefined) break;
        frameBytes -= oldest.length;
        dropped?.(oldest);
      }
      soon();
      return true;
    },
    notice(frame) {
      if (isClosed || notices.length >= NOTICES_MAX) return;
      notices.push(frame);
      soon();
    },
    stuckSinceMs: () => (writtenBytes > 0 ? writtenAtMs : null),
    close() {
      isClosed = true;
      frames = [];
      notices = [];
    },
  };

  /** After what this turn of the event loop still brings. */
  function soon(): void {
    if (isFlushing || writtenBytes > 0) return;
    isFlushing = true;
    setImmediate(flush);
  }

  function flush(): void {
    isFlushing = false;
    if (isClosed || stream.destroyed || !stream.writable) return;
    const batch = notices;
    notices = [];
    let bytes = batch.reduce((sum, frame) => sum + frame.length, 0);
    while (head < frames.length) {
      const frame = frames[head];
      if (frame === undefined || (bytes > 0 && bytes + frame.length > writeBytesMax)) break;
      batch.push(frame);
      bytes += frame.length;
      frameBytes -= frame.length;
      head += 1;
    }
    frames = head === frames.length ? [] : frames.slice(head);
    head = 0;
    if (bytes === 0) return;
    writtenBytes = bytes;
    writtenAtMs = performance.now();
    const [only] = batch;
    stream.write(batch.length === 1 && only !== undefined ? only : Buffer.concat(batch, bytes), () => {
      writtenBytes = 0;
      if (frames.length > 0 || notices.length > 0) flush();
    });
  }
}
