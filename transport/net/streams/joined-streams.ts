/** Two streams as one tunnel: bytes both ways with back-pressure and half-close, and how many there were. */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { reset, wasCut } from './reset.ts';

/** One tunnel. Up is from near to far. */
export class JoinedStreams {
  /** Bytes so far, with those that came before the tunnel. */
  readonly up: () => number;
  readonly down: () => number;
  readonly beganMs: number;
  readonly #near: Duplex;
  readonly #far: Duplex;
  readonly #head: Buffer | null;
  readonly #over: (cause: 'normal' | 'reset') => void;
  #closed = 0;
  #seenBytes = 0;
  #movedMs: number;

  /**
   * Nothing goes through before `start`. `head` came from near already and goes first. `over` may be called more than
   * once: with `reset` when one side failed or was cut, with `normal` when both are done.
   */
  constructor(
    near: Duplex,
    far: Duplex,
    head: Buffer | null,
    nowMs: number,
    over: (cause: 'normal' | 'reset') => void,
  ) {
    const headBytes = head?.length ?? 0;
    const moved = meter(near, far);
    this.up = near instanceof Socket ? () => moved() + headBytes : moved;
    this.down = meter(far, near);
    this.beganMs = nowMs;
    this.#near = near;
    this.#far = far;
    this.#head = head;
    this.#over = over;
    this.#movedMs = nowMs;
  }

  /** Lets bytes through. Called once. */
  start(): void {
    const [near, far, head] = [this.#near, this.#far, this.#head];
    if (near.destroyed || far.destroyed) return this.#over('reset');
    if (head !== null && head.length > 0) far.write(head);
    this.#pass(near, far);
    this.#pass(far, near);
  }

  /** For how long no byte was seen to move either way, in ms: since the call that saw the last one. */
  idleMs(nowMs: number): number {
    const bytes = this.up() + this.down();
    if (bytes !== this.#seenBytes) {
      this.#seenBytes = bytes;
      this.#movedMs = nowMs;
    }
    return nowMs - this.#movedMs;
  }

  /** Resets both sides. */
  cut(): void {
    reset(this.#near);
    reset(this.#far);
  }

  #pass(stream: Duplex, other: Duplex): void {
    stream.on('error', ignore); // its close follows
    stream.once('close', () => {
      this.#closed += 1;
      if (wasCut(stream) || !stream.readableEnded || !stream.writableFinished) this.#over('reset');
      else if (this.#closed === 2) this.#over('normal');
    });
    if (stream.readableEnded) this.#finish(stream, other);
    else stream.once('end', () => this.#finish(stream, other));
    stream.pipe(other, { end: false });
  }

  #finish(stream: Duplex, other: Duplex): void {
    if (wasCut(stream)) this.#over('reset');
    else other.end();
  }
}

/**
 * Bytes from source to sink from now on. Sockets count for themselves; only between two streams of another kind each
 * chunk is counted here.
 */
function meter(source: Duplex, sink: Duplex): () => number {
  if (source instanceof Socket) {
    const before = source.bytesRead - source.readableLength;
    return () => source.bytesRead - before;
  }
  if (sink instanceof Socket) {
    const before = sink.bytesWritten;
    return () => sink.bytesWritten - before;
  }
  let bytes = 0;
  source.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  return () => bytes;
}

function ignore(): void {}
