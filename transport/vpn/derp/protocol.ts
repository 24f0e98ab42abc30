/**
 * What both sides of the public DERP protocol speak, version 2. Frames: a byte of type, four of length (big-endian, of
 * the payload alone), the payload. And the two boxes at the start of a connection, by which both prove their keys:
 * NaCl's crypto_box, with the keys of WireGuard. Source: tailscale.com/derp; see docs/decisions/relay.md.
 */
import { randomBytes } from 'node:crypto';
import nacl from 'tweetnacl';

/** Bytes before a payload. */
export const HEADER_BYTES = 5;

/** Bytes of a key, and of the nonce of a box. */
export const KEY_BYTES = 32;
export const NONCE_BYTES = 24;

/** Bytes of a ping, which its pong repeats. */
export const PING_BYTES = 8;

/** Version of the protocol, as both sides say it. */
export const DERP_VERSION = 2;

/** Path of the protocol at every relay. Source: derphttp. */
export const DERP_PATH = '/derp';

/** Subprotocol of the WebSocket form. Source: cmd/derper. */
export const DERP_SUBPROTOCOL = 'derp';

/** Largest header of an upgrade and of its answer, in bytes. */
export const HTTP_HEADER_BYTES_MAX = 16_384;

/** What a server's first frame begins with: "DERP" and the sign of a key. */
export const MAGIC = Buffer.from('DERP🔑', 'utf8');

/** Types of frames that are spoken here. Those of other numbers are skipped. */
export const FRAME = {
  serverKey: 0x01,
  clientInfo: 0x02,
  serverInfo: 0x03,
  sendPacket: 0x04,
  receivedPacket: 0x05,
  keepAlive: 0x06,
  notePreferred: 0x07,
  peerGone: 0x08,
  ping: 0x12,
  pong: 0x13,
  health: 0x14,
  restarting: 0x15,
} as const;

/** Packets of at most so many bytes. Source: the protocol, MaxPacketSize. */
export const DERP_PACKET_BYTES_MAX = 65_536;

/** Largest frame that carries a packet, in bytes of payload. */
export const PACKET_FRAME_BYTES_MAX = KEY_BYTES + DERP_PACKET_BYTES_MAX;

/** One frame, as it goes over the wire. The parts of its payload are copied. */
export function encodeFrame(type: number, ...parts: readonly Uint8Array[]): Buffer {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + bytes);
  frame[0] = type;
  frame.writeUInt32BE(bytes, 1);
  let at = HEADER_BYTES;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/** Takes bytes as they come. */
export interface FrameReader {
  /** Null, or why these bytes are no frames: then nothing after them can be read either. */
  push(chunk: Buffer): string | null;
}

/**
 * Cuts a stream of bytes into frames, wherever it was split. A payload may lie in the chunk that it came in, and is not
 * changed afterwards. One that is announced as larger than `bytesMax` says then is a problem before a byte of it is
 * kept. `frame` answers false to have no more: what is left of the chunk is forgotten.
 */
export function createFrameReader(
  bytesMax: () => number,
  frame: (type: number, payload: Buffer) => boolean,
): FrameReader {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let payload: Buffer | null = null;
  let payloadBytes = 0;

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length) {
        if (headerBytes < HEADER_BYTES) {
          const taken = Math.min(HEADER_BYTES - headerBytes, chunk.length - at);
          chunk.copy(header, headerBytes, at, at + taken);
          headerBytes += taken;
          at += taken;
          if (headerBytes < HEADER_BYTES) return null;
        }
        const bytes = header.readUInt32BE(1);
        if (bytes > bytesMax()) return `a frame of ${bytes} bytes, above the ${bytesMax()} that are taken`;
        if (payload === null && chunk.length - at >= bytes) {
          // the usual case: nothing is copied
          const whole = chunk.subarray(at, at + bytes);
          at += bytes;
          headerBytes = 0;
          if (!frame(header[0] ?? 0, whole)) return null;
          continue;
        }
        payload ??= Buffer.allocUnsafe(bytes);
        const taken = Math.min(bytes - payloadBytes, chunk.length - at);
        chunk.copy(payload, payloadBytes, at, at + taken);
        payloadBytes += taken;
        at += taken;
        if (payloadBytes < bytes) return null;
        const whole = payload;
        payload = null;
        payloadBytes = 0;
        headerBytes = 0;
        if (!frame(header[0] ?? 0, whole)) return null;
      }
      return null;
    },
  };
}

/** A key pair, 32 bytes each. */
export interface BoxKeys {
  readonly publicKey: Buffer;
  readonly privateKey: Buffer;
}

/** The pair of a private key in base64, as `wg genkey` writes it. Throws when it is none. */
export function boxKeys(privateKey: string): BoxKeys {
  const bytes = keyOf(privateKey);
  if (bytes === null) throw new Error('A private key is 32 bytes in base64.');
  return { privateKey: bytes, publicKey: Buffer.from(nacl.box.keyPair.fromSecretKey(bytes).publicKey) };
}

/** A new pair. */
export function newBoxKeys(): BoxKeys {
  const { publicKey, secretKey } = nacl.box.keyPair();
  return { publicKey: Buffer.from(publicKey), privateKey: Buffer.from(secretKey) };
}

/** A key in base64 as its 32 bytes; null when it is none. */
export function keyOf(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === KEY_BYTES && text.length === 44 ? bytes : null;
}

/** A nonce and the box of a JSON value, for the owner of a public key. */
export function sealJson(value: unknown, theirPublicKey: Uint8Array, privateKey: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  return Buffer.concat([nonce, nacl.box(Buffer.from(JSON.stringify(value)), nonce, theirPublicKey, privateKey)]);
}

/** The JSON value of a nonce and a box, or null when it is not from the owner of that key, or not for this one. */
export function openJson(
  sealed: Uint8Array,
  theirPublicKey: Uint8Array,
  privateKey: Uint8Array,
): { readonly value: unknown } | null {
  if (sealed.length < NONCE_BYTES + nacl.box.overheadLength || theirPublicKey.length !== KEY_BYTES) return null;
  const text = nacl.box.open(sealed.subarray(NONCE_BYTES), sealed.subarray(0, NONCE_BYTES), theirPublicKey, privateKey);
  if (text === null) return null;
  try {
    return { value: JSON.parse(Buffer.from(text).toString('utf8')) as unknown };
  } catch {
    return null;
  }
}
