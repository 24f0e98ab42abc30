/** A WebSocket as a stream of bytes: binary messages in, binary messages out, with back-pressure both ways. */
import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { AT_ONCE, PacedPieces, type Intake } from './paced-pieces.ts';

/**
 * Writes that wait together become one message of at most this many bytes. HTTP/2 writes each 16 KiB with 9 bytes
 * before it: to send them one by one costs more than to copy them.
 */
const MERGED_BYTES_MAX = 131_072;

/** Bytes that wait to be sent before a writer is told to wait. Two frames of HTTP/2 as tunnels send them. */
const UNSENT_BYTES_MAX = 131_072;

/** What a stream may have besides its socket. */
export interface WebSocketStreamOptions {
  /** Is told of all bytes, either way. */
  readonly passed?: (bytes: number) => void;
  /** Decides when what came is handed on. Unless given, it is at once. */
  readonly intake?: Intake;
}

/**
 * The stream of an open socket, which it owns from now on. A text message breaks it, and so does an empty one. Ending
 * it closes the socket; a socket that closes ends it, and one that breaks destroys it with an error.
 *
 * Of what came and was not read yet it holds `unreadBytesMax`; above that the socket waits. For HTTP/2 that must be the
 * window of the connection: Node reads nothing while a write of its own is under way, so two ends that write and hold
 * less than that wait for each other for ever (measured: 200 streams both ways stood still within a second). What its
 * intake finds too much breaks it; what waits there when the socket closes is still handed on.
 */
export function webSocketStream(
  socket: WebSocket,
  unreadBytesMax: number,
  options: WebSocketStreamOptions = {},
): Duplex {
  return new WebSocketStream(socket, unreadBytesMax, options);
}

class WebSocketStream extends Duplex {
  readonly #socket: WebSocket;
  readonly #passed: (bytes: number) => void;
  readonly #paced: PacedPieces;

  constructor(
    socket: WebSocket,
    unreadBytesMax: number,
    { passed = ignore, intake = AT_ONCE }: WebSocketStreamOptions,
  ) {
    super({ readableHighWaterMark: unreadBytesMax, writableHighWaterMark: UNSENT_BYTES_MAX, emitClose: true });
    this.#socket = socket;
    this.#passed = passed;
    this.#paced = new PacedPieces(intake, (bytes) => void this.push(bytes));
    socket.binaryType = 'nodebuffer';
    socket.on('message', (data, isBinary) => this.#arrived(data as Buffer, isBinary));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.#closed());
  }

  /** Called after each piece that was handed on too. */
  override _read(): void {
    if (this.#socket.isPaused && !this.#isFull()) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (chunk.length === 0) done();
    else this.#send([chunk], chunk.length, done);
  }

  /** The last message tells when all have left. */
  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    let waiting: Buffer[] = [];
    let waitingBytes = 0;
    const last = chunks.length - 1;
    for (const [index, { chunk }] of chunks.entries()) {
      if (waitingBytes + chunk.length > MERGED_BYTES_MAX && waiting.length > 0) {
        this.#send(waiting, waitingBytes);
        waiting = [];
        waitingBytes = 0;
      }
      waiting.push(chunk);
      waitingBytes += chunk.length;
      if (index === last) this.#send(waiting, waitingBytes, done);
    }
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.close(1000);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#paced.stop();
    this.#socket.terminate();
    done(error);
  }

  #send(chunks: readonly Buffer[], bytes: number, done?: (error?: Error | null) => void): void {
    // a peer that is gone said more than was handed on yet, which an error here would lose
    if (this.#socket.readyState !== this.#socket.OPEN) return done?.();
    this.#passed(bytes);
    const [only] = chunks;
    this.#socket.send(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, bytes), BINARY, done);
  }

  #arrived(data: Buffer, isBinary: boolean): void {
    if (!isBinary || data.length === 0)
      return void this.destroy(new Error('a message without bytes in a stream of bytes')); // nobody counts those
    this.#passed(data.length);
    if (!this.#paced.add(data)) return void this.destroy(new Error('more came than may'));
    if (this.#isFull()) this.#socket.pause();
  }

  #isFull(): boolean {
    return this.readableLength + this.#paced.bytes >= this.readableHighWaterMark;
  }

  #closed(): void {
    if (this.destroyed) return;
    this.#paced.end(() => {
      this.push(null);
      if (!this.writableEnded) this.destroy();
    });
  }
}

function ignore(): void {}

const BINARY = { binary: true, compress: false } as const;
