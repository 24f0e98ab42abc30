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

/** Frames on their way out of one stream. */
export class Outbox {
  readonly #stream: Writable;
  readonly #limits: OutboxLimits;
  #frames: Buffer[] = [];
  /** Frames before it are gone: to shift an array of hundreds with each packet would cost more than the packet. */
  #head = 0;
  #frameBytes = 0;
  #notices: Buffer[] = [];
  #writtenBytes = 0;
  #writtenAtMs = 0;
  #isFlushing = false;
  #isClosed = false;

  constructor(stream: Writable, limits: OutboxLimits) {
    this.#stream = stream;
    this.#limits = limits;
  }

  /** False: this frame was dropped. */
  push(frame: Buffer): boolean {
    if (this.#isClosed) return false;
    if (this.#limits.drops === 'newest' && !this.#hasRoomFor(frame)) {
      this.#limits.dropped?.(frame);
      return false;
    }
    this.#frames.push(frame);
    this.#frameBytes += frame.length;
    this.#dropOldest();
    this.#soon();
    return true;
  }

  /** Goes out before the packets that wait. */
  notice(frame: Buffer): void {
    if (this.#isClosed || this.#notices.length >= NOTICES_MAX) return;
    this.#notices.push(frame);
    this.#soon();
  }

  /** Since when the stream has not taken what it was given, as `performance.now()`; null: it takes. */
  stuckSinceMs(): number | null {
    return this.#writtenBytes > 0 ? this.#writtenAtMs : null;
  }

  /** Nothing is written any more. */
  close(): void {
    this.#isClosed = true;
    this.#frames = [];
    this.#notices = [];
  }

  get #waiting(): number {
    return this.#frames.length - this.#head;
  }

  #hasRoomFor(frame: Buffer): boolean {
    const { bytesMax, framesMax } = this.#limits;
    return this.#frameBytes + this.#writtenBytes + frame.length <= bytesMax && this.#waiting < framesMax;
  }

  /** Until what waits is within the limits, or one frame. */
  #dropOldest(): void {
    const { bytesMax, framesMax, dropped } = this.#limits;
    while (this.#waiting > 1 && (this.#frameBytes > bytesMax || this.#waiting > framesMax)) {
      const oldest = this.#frames[this.#head];
      if (oldest === undefined) return;
      this.#head += 1;
      this.#frameBytes -= oldest.length;
      dropped?.(oldest);
    }
  }

  /** After what this turn of the event loop still brings. */
  #soon(): void {
    if (this.#isFlushing || this.#writtenBytes > 0) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#isClosed || this.#stream.destroyed || !this.#stream.writable) return;
    const [batch, bytes] = this.#nextBatch();
    if (bytes === 0) return;
    this.#writtenBytes = bytes;
    this.#writtenAtMs = performance.now();
    const [only] = batch;
    this.#stream.write(batch.length === 1 && only !== undefined ? only : Buffer.concat(batch, bytes), () => {
      this.#writtenBytes = 0;
      if (this.#frames.length > 0 || this.#notices.length > 0) this.#flush();
    });
  }

  /** What leaves in one write, and how long it is: all notices first. */
  #nextBatch(): readonly [readonly Buffer[], number] {
    const batch = this.#notices;
    this.#notices = [];
    let bytes = batch.reduce((sum, frame) => sum + frame.length, 0);
    while (this.#head < this.#frames.length) {
      const frame = this.#frames[this.#head];
      if (frame === undefined || (bytes > 0 && bytes + frame.length > this.#limits.writeBytesMax)) break;
      batch.push(frame);
      bytes += frame.length;
      this.#frameBytes -= frame.length;
      this.#head += 1;
    }
    this.#frames = this.#head === this.#frames.length ? [] : this.#frames.slice(this.#head);
    this.#head = 0;
    return [batch, bytes];
  }
}
