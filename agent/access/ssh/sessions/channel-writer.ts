/** Writes bytes to a client: one after another, and no faster than the client takes them. */
import type { Readable } from 'node:stream';
import type { Connection, ServerChannel } from 'ssh2';
import { isExchangingKeys } from '../../../../transport/net/ssh/peer-guard.ts';
import { forgetWritten, isOpen, socketOf } from '../library.ts';
import { SOCKET_WAITING_BYTES_MAX } from '../limits.ts';

/** Output of a process that waits for its channel before the process is not read any more, in bytes. */
export const OUTPUT_WAITING_BYTES_MAX = 262_144;

/** Which of a channel's two streams. */
export type OutputKind = 'out' | 'error';

/** Is shown output on its way. */
export type Seen = (kind: OutputKind, data: Buffer) => void;

/**
 * Writes both streams of a channel. One write is under way at a time, as ssh2 loses count of two (see library.ts); what
 * a client lets wait is bounded by stopping the sources, also for a client with a window of gigabytes, whose socket
 * ssh2 would fill, and for one that exchanges keys, for whom ssh2 would keep all that is written.
 */
export class ChannelWriter {
  readonly #channel: ServerChannel;
  readonly #client: Connection;
  readonly #waiting: { readonly data: Buffer; readonly kind: OutputKind }[] = [];
  readonly #stopped = new Set<Readable>();
  readonly #whenEmpty: (() => void)[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #isClosed = false;

  constructor(client: Connection, channel: ServerChannel) {
    this.#client = client;
    this.#channel = channel;
  }

  /** Sends a text in between, such as a notice. */
  say(kind: OutputKind, text: string): void {
    this.#take(Buffer.from(text), kind);
  }

  /** Sends all of `source`, which is stopped while too much waits. `seen` is shown each piece first. */
  from(source: Readable, kind: OutputKind, seen?: Seen): void {
    source.on('data', (data: Buffer) => {
      seen?.(kind, data);
      this.#take(data, kind);
      if (this.#waitingBytes >= OUTPUT_WAITING_BYTES_MAX) {
        this.#stopped.add(source);
        source.pause();
      }
    });
  }

  /** Calls `act` once everything so far is with ssh2: now, or when the client has taken it. */
  whenEmpty(act: () => void): void {
    if (this.#isWriting) this.#whenEmpty.push(act);
    else act();
  }

  /** Nothing is sent any more; what waits is dropped. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#whenEmpty.length = 0;
    this.#stopped.clear();
  }

  #take(data: Buffer, kind: OutputKind): void {
    if (this.#isClosed) return;
    this.#waiting.push({ data, kind });
    this.#waitingBytes += data.length;
    if (!this.#isWriting) this.#next();
  }

  #next(): void {
    const entry = this.#waiting.shift();
    this.#isWriting = entry !== undefined;
    if (entry === undefined) {
      for (const act of this.#whenEmpty.splice(0)) act();
      return;
    }
    this.#send(entry.data, entry.kind);
  }

  /** Writes once the client takes it. */
  #send(data: Buffer, kind: OutputKind): void {
    if (this.#isClosed) return;
    const client = this.#client;
    const socket = socketOf(client);
    if (isExchangingKeys(client)) client.once('handshake', () => this.#send(data, kind));
    else if (socket.writableLength > SOCKET_WAITING_BYTES_MAX) socket.once('drain', () => this.#send(data, kind));
    else this.#write(data, kind);
  }

  #write(data: Buffer, kind: OutputKind): void {
    if (this.#isClosed || !isOpen(this.#client)) return this.close();
    (kind === 'out' ? this.#channel : this.#channel.stderr).write(data, () => {
      forgetWritten(this.#channel);
      this.#waitingBytes -= data.length;
      if (this.#waitingBytes < OUTPUT_WAITING_BYTES_MAX) {
        for (const source of this.#stopped) source.resume();
        this.#stopped.clear();
      }
      this.#next();
    });
  }
}
