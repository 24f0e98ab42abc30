/** A WebSocket as a stream of bytes: binary messages in, binary messages out, with back-pressure both ways. */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { PacedStream, type PacedStreamOptions } from './paced-stream.ts';

/**
 * Writes that wait together become one message of at most this many bytes. HTTP/2 writes each 16 KiB with 9 bytes
 * before it: to send them one by one costs more than to copy them.
 */
const MERGED_BYTES_MAX = 131_072;

/**
 * The stream of an open socket, which it owns from now on. A text message breaks it, and so does an empty one. Ending
 * it closes the socket; a socket that closes ends it, and one that breaks destroys it with an error.
 *
 * For HTTP/2 `unreadBytesMax` must be the window of the connection: Node reads nothing while a write of its own is
 * under way, so two ends that write and hold less than that wait for each other for ever (measured: 200 streams both
 * ways stood still within a second).
 */
export function webSocketStream(socket: WebSocket, unreadBytesMax: number, options: PacedStreamOptions = {}): Duplex {
  return new WebSocketStream(socket, unreadBytesMax, options);
}

class WebSocketStream extends PacedStream {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket, unreadBytesMax: number, options: PacedStreamOptions) {
    const source = {
      isPaused: () => socket.isPaused,
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      cut: () => socket.terminate(),
    };
    super(source, unreadBytesMax, options);
    this.#socket = socket;
    socket.binaryType = 'nodebuffer';
    socket.on('message', (data, isBinary) => this.#came(data as Buffer, isBinary));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.over());
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

  #send(chunks: readonly Buffer[], bytes: number, done?: (error?: Error | null) => void): void {
    // a peer that is gone said more than was handed on yet, which an error here would lose
    if (this.#socket.readyState !== this.#socket.OPEN) return done?.();
    this.passed(bytes);
    const [only] = chunks;
    this.#socket.send(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, bytes), BINARY, done);
  }

  #came(data: Buffer, isBinary: boolean): void {
    if (isBinary && data.length > 0) return this.arrived(data);
    this.destroy(new Error('a message without bytes in a stream of bytes')); // nobody counts those
  }
}

const BINARY = { binary: true, compress: false } as const;
