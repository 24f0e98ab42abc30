/** A connection as a stream of bytes whose intake decides when what came is handed on. */
import { Duplex } from 'node:stream';
import { AT_ONCE, PacedPieces, type Intake } from './paced-pieces.ts';

/** What a stream may have besides its socket. */
export interface SocketStreamOptions {
  /** Came with what made the connection. */
  readonly head?: Buffer;
  /** Is told of all bytes, either way. */
  readonly passed?: (bytes: number) => void;
  /** Decides when what came is handed on. Unless given, it is at once. */
  readonly intake?: Intake;
}

/** Bytes that wait to be sent before a writer is told to wait. Two frames of HTTP/2 as tunnels send them. */
const UNSENT_BYTES_MAX = 131_072;

/**
 * The stream of an open socket, which it owns from now on. It holds `unreadBytesMax` of what came and was not read yet;
 * above that the socket waits. What its intake finds too much breaks it; what waits there when the other side is done is
 * still handed on. For HTTP/2 as `webSocketStream`, whose place it takes where no WebSocket is needed.
 */
export function socketStream(socket: Duplex, unreadBytesMax: number, options: SocketStreamOptions = {}): Duplex {
  return new SocketStream(socket, unreadBytesMax, options);
}

class SocketStream extends Duplex {
  readonly #socket: Duplex;
  readonly #passed: (bytes: number) => void;
  readonly #paced: PacedPieces;

  constructor(
    socket: Duplex,
    unreadBytesMax: number,
    { head, passed = () => {}, intake = AT_ONCE }: SocketStreamOptions,
  ) {
    super({ readableHighWaterMark: unreadBytesMax, writableHighWaterMark: UNSENT_BYTES_MAX, emitClose: true });
    this.#socket = socket;
    this.#passed = passed;
    this.#paced = new PacedPieces(intake, (bytes) => void this.push(bytes));
    socket.on('error', (error) => this.destroy(error));
    socket.on('end', () => this.#closed());
    socket.on('close', () => this.#closed());
    if (head !== undefined && head.length > 0) this.#arrived(head);
    socket.on('data', (bytes: Buffer) => this.#arrived(bytes));
  }

  /** Called after each piece that was handed on too. */
  override _read(): void {
    if (this.#socket.isPaused() && !this.#isFull()) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#passed(chunk.length);
    this.#socket.write(chunk, done);
  }

  /** In one go, as HTTP/2 writes each frame behind nine bytes. */
  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    const last = chunks.length - 1;
    this.#socket.cork();
    for (const [index, { chunk }] of chunks.entries()) {
      this.#passed(chunk.length);
      if (index === last) this.#socket.write(chunk, done);
      else this.#socket.write(chunk);
    }
    this.#socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#paced.stop();
    this.#socket.destroy();
    done(error);
  }

  #arrived(bytes: Buffer): void {
    if (this.destroyed) return;
    this.#passed(bytes.length);
    if (!this.#paced.add(bytes)) return void this.destroy(new Error('more came than may'));
    if (this.#isFull()) this.#socket.pause();
  }

  #isFull(): boolean {
    return this.readableLength + this.#paced.bytes >= this.readableHighWaterMark;
  }

  #closed(): void {
    if (this.destroyed || this.readableEnded) return;
    this.#paced.end(() => {
      this.push(null);
      if (!this.writableEnded) this.destroy();
    });
  }
}
