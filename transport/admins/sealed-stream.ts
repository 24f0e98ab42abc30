/**
 * Bytes of an agent between two admins, sealed both ways in records: four bytes with the length of what follows, the
 * tag, the text. Each record is sealed for its place, and an empty one ends its direction: whatever comes otherwise, or
 * ends without it, cuts the stream.
 */
import { Duplex } from 'node:stream';
import { contained } from '../net/streams/contained.ts';
import { reset } from '../net/streams/reset.ts';
import { RELAYED_RECORD_BYTES_MAX } from './limits.ts';
import type { MessageSeals } from './message-seals.ts';

/** Bytes before each record, and of its tag (NIST SP 800-38D). */
const LENGTH_BYTES = 4;
const TAG_BYTES = 16;

const NOTHING = Buffer.alloc(0);
const HEAD_END = '\r\n\r\n';
const CUT = 'the connection between the admins was cut';

/** What it needs besides its socket. */
export interface SealedStreamOptions {
  readonly seals: MessageSeals;
  /** Came with what made the connection. */
  readonly head: Buffer;
  /** What is written first is the head of an answer, which goes as it is. */
  readonly answersFirst: boolean;
  /** Something came that was not sealed for its place. The stream is cut. */
  readonly broken: () => void;
}

/** Owns the socket from now on, whose ends it keeps apart: each direction ends by itself. */
export class SealedStream extends Duplex {
  readonly #socket: Duplex;
  readonly #seals: MessageSeals;
  readonly #broken: () => void;
  #answersFirst: boolean;
  /** Of a record that has not come as a whole. */
  #rest: Buffer = NOTHING;
  #isEnded = false;

  constructor(socket: Duplex, { seals, head, answersFirst, broken }: SealedStreamOptions) {
    super();
    this.#socket = socket;
    this.#seals = seals;
    this.#broken = broken;
    this.#answersFirst = answersFirst;
    this.on('error', () => {}); // `close` follows
    socket.on('error', (error) => this.destroy(error));
    socket.on('end', () => {
      if (!this.#isEnded) this.destroy(new Error(CUT)); // as where the other process was killed
    });
    socket.on('close', () => {
      if (!this.#isEnded || !this.writableFinished) this.destroy(new Error(CUT));
    });
    if (head.length > 0) socket.unshift(head);
    socket.on(
      'data',
      contained(
        (bytes: Buffer) => this.#came(bytes),
        (error) => void this.destroy(error as Error),
      ),
    );
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#send(chunk, done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: () => void): void {
    this.#record(NOTHING);
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (error === null) this.#socket.destroy();
    else reset(this.#socket);
    done(error);
  }

  #send(bytes: Buffer, done: () => void): void {
    const clear = this.#answersFirst ? headOf(bytes) : 0;
    if (clear > 0) {
      this.#answersFirst = false;
      this.#socket.write(bytes.subarray(0, clear));
    }
    let hasRoom = true;
    this.#socket.cork();
    for (let at = clear; at < bytes.length; at += RELAYED_RECORD_BYTES_MAX)
      hasRoom = this.#record(bytes.subarray(at, at + RELAYED_RECORD_BYTES_MAX));
    this.#socket.uncork();
    if (hasRoom) done();
    else this.#socket.once('drain', done); // where it breaks instead, both are destroyed
  }

  /** False: the socket has no room for more. */
  #record(text: Uint8Array): boolean {
    const sealed = this.#seals.seal(text);
    const length = Buffer.allocUnsafe(LENGTH_BYTES);
    length.writeUInt32BE(sealed.length);
    this.#socket.write(length);
    return this.#socket.write(sealed);
  }

  #came(bytes: Buffer): void {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (rest.length >= LENGTH_BYTES && !this.destroyed) {
      const end = LENGTH_BYTES + rest.readUInt32BE();
      if (end > LENGTH_BYTES + TAG_BYTES + RELAYED_RECORD_BYTES_MAX) return this.#cut();
      if (rest.length < end) break;
      this.#opened(this.#seals.open(rest.subarray(LENGTH_BYTES, end)));
      rest = rest.subarray(end);
    }
    this.#rest = rest;
  }

  #opened(text: Buffer | null): void {
    if (text === null) return this.#cut();
    this.#isEnded = text.length === 0;
    if (!this.push(this.#isEnded ? null : text)) this.#socket.pause();
  }

  #cut(): void {
    if (this.destroyed) return;
    this.#broken();
    this.destroy(new Error('what another admin passes on was not sealed for its place'));
  }
}

/** Bytes of the head of an answer that is written in one piece. */
function headOf(bytes: Buffer): number {
  const at = bytes.indexOf(HEAD_END);
  return at < 0 ? bytes.length : at + HEAD_END.length;
}
