/** One connection to a relay from its first frame to its end, spoken by the client. */
import type { Duplex } from 'node:stream';
import { openJson, sealJson, type BoxKeys } from './box.ts';
import { createFrameReader, DERP_VERSION, encodeFrame, FRAME, KEY_BYTES, MAGIC, PING_BYTES } from './frames.ts';
import { FRAME_BYTES_MAX, HANDSHAKE_MS_MAX, WAITING_BYTES_MAX } from './limits.ts';
import { createOutbox } from './outbox.ts';

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

/** A session under way. */
export interface DerpSession {
  readonly isOpen: boolean;
  /** False: dropped. */
  send(key: Uint8Array, packet: Uint8Array): boolean;
  end(problem: string): void;
}

/** Frames that wait at once at most; bytes are bounded apart. */
const WAITING_FRAMES_MAX = 8_192;

/** Starts it. It ends itself when the relay breaks the protocol or is silent. */
export function startDerpSession(options: DerpSessionOptions): DerpSession {
  const { stream, keys, pingMs, silenceMsMax } = options;
  const outbox = createOutbox(stream, {
    bytesMax: WAITING_BYTES_MAX,
    framesMax: WAITING_FRAMES_MAX,
    writeBytesMax: WAITING_BYTES_MAX,
    drops: 'newest',
  });
  let state: 'greeting' | 'proving' | 'open' | 'over' = 'greeting';
  let serverKey: Buffer = Buffer.alloc(0);
  let heardAtMs = performance.now();
  let waitMs: number | null = null;
  let spoke = false;
  let pings = 0;

  const reader = createFrameReader(
    () => FRAME_BYTES_MAX,
    (type, payload) => {
      const problem =
        state === 'greeting'
          ? greeted(type, payload)
          : state === 'proving'
            ? proved(type, payload)
            : heard(type, payload);
      if (problem !== null) end(problem);
      return state !== 'over';
    },
  );
  const late = setTimeout(() => end('its handshake did not end in time'), HANDSHAKE_MS_MAX).unref();
  const pinging = setInterval(ping, pingMs).unref();
  stream.on('data', (chunk: Buffer) => take(chunk));
  stream.on('error', () => end('the connection broke'));
  stream.on('end', () => end('it hung up'));
  stream.on('close', () => end('it hung up'));
  if (options.head.length > 0) queueMicrotask(() => take(options.head)); // the caller has this session by then

  return {
    get isOpen() {
      return state === 'open';
    },
    send: (key, packet) => state === 'open' && outbox.push(encodeFrame(FRAME.sendPacket, key, packet)),
    end,
  };

  function take(chunk: Buffer): void {
    if (state === 'over') return;
    heardAtMs = performance.now();
    const problem = reader.push(chunk);
    if (problem !== null) end(problem);
  }

  function greeted(type: number, payload: Buffer): string | null {
    if (
      type !== FRAME.serverKey ||
      payload.length < MAGIC.length + KEY_BYTES ||
      !payload.subarray(0, MAGIC.length).equals(MAGIC)
    )
      return 'it does not speak DERP';
    serverKey = Buffer.from(payload.subarray(MAGIC.length, MAGIC.length + KEY_BYTES));
    state = 'proving';
    spoke = true;
    outbox.notice(
      encodeFrame(
        FRAME.clientInfo,
        keys.publicKey,
        sealJson({ version: DERP_VERSION, CanAckPings: true }, serverKey, keys.privateKey),
      ),
    );
    if (options.isHome) outbox.notice(encodeFrame(FRAME.notePreferred, Buffer.from([1])));
    return null;
  }

  function proved(type: number, payload: Buffer): string | null {
    if (type !== FRAME.serverInfo) return null; // an old relay may keep it alive meanwhile
    if (openJson(payload, serverKey, keys.privateKey) === null) return 'it does not own the key that it shows';
    state = 'open';
    clearTimeout(late);
    options.opened();
    return null;
  }

  function heard(type: number, payload: Buffer): string | null {
    switch (type) {
      case FRAME.receivedPacket:
        if (payload.length < KEY_BYTES) return 'it sent a packet from nobody';
        options.received(payload.subarray(0, KEY_BYTES), payload.subarray(KEY_BYTES));
        return null;
      case FRAME.ping:
        if (payload.length >= PING_BYTES) outbox.notice(encodeFrame(FRAME.pong, payload.subarray(0, PING_BYTES)));
        return null;
      case FRAME.health:
        options.warned(payload.toString('utf8', 0, 256));
        return null;
      case FRAME.restarting:
        waitMs = payload.length >= 4 ? payload.readUInt32BE(0) : null;
        return null;
      default:
        return null; // keepAlive and pong: that they came is all they say
    }
  }

  function ping(): void {
    if (performance.now() - heardAtMs > silenceMsMax) return end(`it was silent for ${silenceMsMax} ms`);
    if (state !== 'open') return;
    pings += 1;
    const payload = Buffer.alloc(PING_BYTES);
    payload.writeBigUInt64BE(BigInt(pings));
    outbox.notice(encodeFrame(FRAME.ping, payload));
  }

  function end(problem: string): void {
    if (state === 'over') return;
    state = 'over';
    clearTimeout(late);
    clearInterval(pinging);
    outbox.close();
    stream.destroy();
    options.ended({ problem, spoke, waitMs });
  }
}
