/** Bytes of a connection as a stream, handed on as its intake decides, with back-pressure to whoever sends them. */
import { Duplex } from 'node:stream';
import { AT_ONCE, PacedPieces, type Intake } from './paced-pieces.ts';

/** Bytes that wait to be sent before a writer is told to wait. Two frames of HTTP/2 as tunnels send them. */
const UNSENT_BYTES_MAX = 131_072;

/** What a stream may have besides its connection. */
export interface PacedStreamOptions {
  /** Is told of all bytes, either way. */
  readonly passed?: (bytes: number) => void;
  /** Decides when what came is handed on. Unless given, it is at once. */
  readonly intake?: Intake;
}

/** Where the bytes come from. */
export interface Source {
  isPaused(): boolean;
  pause(): void;
  resume(): void;
  /** Ends it at once. */
  cut(): void;
}

/**
 * Of what came and was not read yet it holds `unreadBytesMax`; above that the source waits. What its intake finds too
 * much breaks it. What waits there when the source is done is still handed on.
 */
export abstract class PacedStream extends Duplex {
  protected readonly passed: (bytes: number) => void;
  readonly #source: Source;
  readonly #paced: PacedPieces;

  protected constructor(
    source: Source,
    unreadBytesMax: number,
    { passed = () => {}, intake = AT_ONCE }: PacedStreamOptions,
  ) {
    super({ readableHighWaterMark: unreadBytesMax, writableHighWaterMark: UNSENT_BYTES_MAX, emitClose: true });
    this.passed = passed;
    this.#source = source;
    this.#paced = new PacedPieces(intake, (bytes) => void this.push(bytes));
  }

  /** Called after each piece that was handed on too. */
  override _read(): void {
    if (this.#source.isPaused() && !this.#isFull()) this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#paced.stop();
    this.#source.cut();
    done(error);
  }

  /** These came. */
  protected arrived(bytes: Buffer): void {
    if (this.destroyed) return;
    this.passed(bytes.length);
    if (!this.#paced.add(bytes)) return void this.destroy(new Error('more came than may'));
    if (this.#isFull()) this.#source.pause();
  }

  /** Nothing more comes. A peer that is gone said more than was handed on yet, which an error would lose. */
  protected over(): void {
    if (this.destroyed || this.readableEnded) return;
    this.#paced.end(() => {
      this.push(null);
      if (!this.writableEnded) this.destroy();
    });
  }

  #isFull(): boolean {
    return this.readableLength + this.#paced.bytes >= this.readableHighWaterMark;
  }
}
