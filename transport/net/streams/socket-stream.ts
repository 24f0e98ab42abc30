/** A connection as a stream of bytes whose intake decides when what came is handed on. */
import type { Duplex } from 'node:stream';
import { PacedStream, type PacedStreamOptions } from './paced-stream.ts';
import { startTimer } from './timer.ts';

/** What a stream may have besides its socket. */
export interface SocketStreamOptions extends PacedStreamOptions {
  /** Came with what made the connection. */
  readonly head?: Buffer;
  /** A peer that does not end its side within this, once ours has ended, is cut, in ms; CLOSE_MS_MAX unless given. */
  readonly closeMsMax?: number;
}

/** As long as it takes over the slowest way, and less than anybody waits, in ms. */
const CLOSE_MS_MAX = 10_000;

/**
 * The stream of an open socket, which it owns from now on. For HTTP/2 as `webSocketStream`, whose place it takes where
 * no WebSocket is needed: a socket that breaks ends it, as one does that closes.
 */
export function socketStream(socket: Duplex, unreadBytesMax: number, options: SocketStreamOptions = {}): Duplex {
  return new SocketStream(socket, unreadBytesMax, options);
}

class SocketStream extends PacedStream {
  readonly #socket: Duplex;
  readonly #closeMsMax: number;

  constructor(
    socket: Duplex,
    unreadBytesMax: number,
    { head, closeMsMax = CLOSE_MS_MAX, ...options }: SocketStreamOptions,
  ) {
    const source = {
      isPaused: () => socket.isPaused(),
      pause: () => void socket.pause(),
      resume: () => void socket.resume(),
      cut: () => void socket.destroy(),
    };
    super(source, unreadBytesMax, options);
    this.#socket = socket;
    this.#closeMsMax = closeMsMax;
    socket.on('error', () => {}); // `close` follows
    socket.on('end', () => this.over());
    socket.on('close', () => this.over());
    if (head !== undefined && head.length > 0) this.arrived(head);
    socket.on('data', (bytes: Buffer) => this.arrived(bytes));
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.passed(chunk.length);
    this.#socket.write(chunk, () => done()); // what could not be sent is told by `close`
  }

  /** In one go, as HTTP/2 writes each frame behind nine bytes. */
  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    const last = chunks.length - 1;
    this.#socket.cork();
    for (const [index, { chunk }] of chunks.entries()) {
      this.passed(chunk.length);
      if (index === last) this.#socket.write(chunk, () => done());
      else this.#socket.write(chunk);
    }
    this.#socket.uncork();
  }

  override _final(done: () => void): void {
    const cancel = startTimer(this.#closeMsMax, () => void this.#socket.destroy());
    this.#socket.once('close', cancel);
    this.#socket.end();
    done();
  }
}
