/** One connection to a relay from its first frame to its end, spoken by the client. */
import type { Duplex } from 'node:stream';
import {
  createFrameReader,
  DERP_VERSION,
  encodeFrame,
  FRAME,
  KEY_BYTES,
  MAGIC,
  openJson,
  PING_BYTES,
  sealJson,
  type BoxKeys,
  type FrameReader,
} from './protocol.ts';
import { FRAME_BYTES_MAX, HANDSHAKE_MS_MAX, WAITING_BYTES_MAX } from './limits.ts';
import { Outbox } from '../../net/streams/outbox.ts';

/** What a session takes and tells. */
export interface DerpSessionOptions {
  readonly stream: Duplex;
  /** Bytes that were read already. */
  readonly head: Buffer;
  readonly keys: BoxKeys;
  /** Whether this is the relay where others find this client: a note that relays count. */
  readonly isHome: boolean;
  readonly pingMs: number;
  readonly silenceMsMax: number;
  readonly opened: () => void;
  /** Keys in binary form, in a buffer that is the receiver's. */
  readonly received: (source: Buffer, packet: Buffer) => void;
  /** The relay says that something is wrong with this connection; empty: no more. */
  readonly warned: (problem: string) => void;
  /** Once, at the end. */
  readonly ended: (end: DerpEnd) => void;
}

/** How a session ended. */
export interface DerpEnd {
  /** Half a sentence. */
  readonly problem: string;
  /** Whether the other side spoke DERP: then another form of the connection makes no difference. */
  readonly spoke: boolean;
  /** The relay asked to be left alone for so long; null: it did not. */
  readonly waitMs: number | null;
}

/** Frames that wait at once at most; bytes are bounded apart. */
const WAITING_FRAMES_MAX = 8_192;

/** A session under way. It ends itself when the relay breaks the protocol or is silent. */
export class DerpSession {
  readonly #options: DerpSessionOptions;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  readonly #late: NodeJS.Timeout;
  readonly #pinging: NodeJS.Timeout;
  #state: 'greeting' | 'proving' | 'open' | 'over' = 'greeting';
  #serverKey: Buffer = Buffer.alloc(0);
  #heardAtMs = performance.now();
  #waitMs: number | null = null;
  #spoke = false;
  #pings = 0;

  /** Begins at once. Nothing is told before it returns. */
  constructor(options: DerpSessionOptions) {
    const { stream, head, pingMs } = options;
    this.#options = options;
    this.#outbox = new Outbox(stream, {
      bytesMax: WAITING_BYTES_MAX,
      framesMax: WAITING_FRAMES_MAX,
      writeBytesMax: WAITING_BYTES_MAX,
      drops: 'newest',
    });
    this.#reader = createFrameReader(
      () => FRAME_BYTES_MAX,
      (type, payload) => this.#frame(type, payload),
    );
    this.#late = setTimeout(() => this.end('its handshake did not end in time'), HANDSHAKE_MS_MAX).unref();
    this.#pinging = setInterval(() => this.#ping(), pingMs).unref();
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('error', () => this.end('the connection broke'));
    stream.on('end', () => this.end('it hung up'));
    stream.on('close', () => this.end('it hung up'));
    if (head.length > 0) queueMicrotask(() => this.#take(head));
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** False: dropped. */
  send(key: Uint8Array, packet: Uint8Array): boolean {
    return this.isOpen && this.#outbox.push(encodeFrame(FRAME.sendPacket, key, packet));
  }

  end(problem: string): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    clearTimeout(this.#late);
    clearInterval(this.#pinging);
    this.#outbox.close();
    this.#options.stream.destroy();
    this.#options.ended({ problem, spoke: this.#spoke, waitMs: this.#waitMs });
  }

  #take(chunk: Buffer): void {
    if (this.#state === 'over') return;
    this.#heardAtMs = performance.now();
    const problem = this.#reader.push(chunk);
    if (problem !== null) this.end(problem);
  }

  /** False: no more of them are wanted. */
  #frame(type: number, payload: Buffer): boolean {
    const problem = this.#problemOf(type, payload);
    if (problem !== null) this.end(problem);
    return this.#state !== 'over';
  }

  #problemOf(type: number, payload: Buffer): string | null {
    if (this.#state === 'greeting') return this.#greeted(type, payload);
    return this.#state === 'proving' ? this.#proved(type, payload) : this.#heard(type, payload);
  }

  #greeted(type: number, payload: Buffer): string | null {
    const { keys, isHome } = this.#options;
    if (
      type !== FRAME.serverKey ||
      payload.length < MAGIC.length + KEY_BYTES ||
      !payload.subarray(0, MAGIC.length).equals(MAGIC)
    )
      return 'it does not speak DERP';
    this.#serverKey = Buffer.from(payload.subarray(MAGIC.length, MAGIC.length + KEY_BYTES));
    this.#state = 'proving';
    this.#spoke = true;
    this.#outbox.notice(
      encodeFrame(
        FRAME.clientInfo,
        keys.publicKey,
        sealJson({ version: DERP_VERSION, CanAckPings: true }, this.#serverKey, keys.privateKey),
      ),
    );
    if (isHome) this.#outbox.notice(encodeFrame(FRAME.notePreferred, Buffer.from([1])));
    return null;
  }

  #proved(type: number, payload: Buffer): string | null {
    if (type !== FRAME.serverInfo) return null; // an old relay may keep it alive meanwhile
    if (openJson(payload, this.#serverKey, this.#options.keys.privateKey) === null)
      return 'it does not own the key that it shows';
    this.#state = 'open';
    clearTimeout(this.#late);
    this.#options.opened();
    return null;
  }

  #heard(type: number, payload: Buffer): string | null {
    switch (type) {
      case FRAME.receivedPacket:
        if (payload.length < KEY_BYTES) return 'it sent a packet from nobody';
        this.#options.received(payload.subarray(0, KEY_BYTES), payload.subarray(KEY_BYTES));
        return null;
      case FRAME.ping:
        if (payload.length >= PING_BYTES) this.#outbox.notice(encodeFrame(FRAME.pong, payload.subarray(0, PING_BYTES)));
        return null;
      case FRAME.health:
        this.#options.warned(payload.toString('utf8', 0, 256));
        return null;
      case FRAME.restarting:
        this.#waitMs = payload.length >= 4 ? payload.readUInt32BE(0) : null;
        return null;
      default:
        return null; // keepAlive and pong: that they came is all they say
    }
  }

  #ping(): void {
    const { silenceMsMax } = this.#options;
    if (performance.now() - this.#heardAtMs > silenceMsMax) return this.end(`it was silent for ${silenceMsMax} ms`);
    if (!this.isOpen) return;
    this.#pings += 1;
    const payload = Buffer.alloc(PING_BYTES);
    payload.writeBigUInt64BE(BigInt(this.#pings));
    this.#outbox.notice(encodeFrame(FRAME.ping, payload));
  }
}
