/**
 * The responder's side of WireGuard's handshake, and its empty packets: Noise_IKpsk2 without a preshared key. Knows no
 * peers, times or sockets. Source: https://www.wireguard.com/protocol/, and "WireGuard: Next Generation Kernel Network
 * Tunnel", 5.4.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';
import { blake2s } from '@noble/hashes/blake2.js';

/** Lengths of its messages, in bytes. Each is sent in one packet, and is exactly as long. */
export const INITIATION_BYTES = 148;
export const RESPONSE_BYTES = 92;
export const KEEPALIVE_BYTES = 32;

/** Types of its messages: a byte and three zeros, read as one number. */
const INITIATION = 1;
const RESPONSE = 2;
const TRANSPORT = 4;

const KEY_BYTES = 32;
const MAC_BYTES = 16;
const TAG_BYTES = 16;
const TIMESTAMP_BYTES = 12;
const NONCE_BYTES = 12;
/** Of BLAKE2s, for HMAC. */
const BLOCK_BYTES = 64;

/** Where the parts of an initiation begin. */
const AT = { ephemeral: 8, key: 40, timestamp: 88, mac1: 116, mac2: 132 } as const;

/** Before the raw key in an X25519 key's DER. Source: RFC 8410. */
const SPKI_PREFIX = Buffer.from('302a300506032b656e032100', 'hex');
const PKCS8_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex');

const EMPTY = Buffer.alloc(0);
const NO_PRESHARED_KEY = Buffer.alloc(KEY_BYTES);
const CONSTRUCTION = hash(Buffer.from('Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s'));
const IDENTIFIED = hash(CONSTRUCTION, Buffer.from('WireGuard v1 zx2c4 Jason@zx2c4.com'));
const LABEL_MAC1 = Buffer.from('mac1----');

/**
 * Whoever begins handshakes, as this responder computes with it: made once, as it costs two thirds of what an answer
 * does.
 */
export interface Initiator {
  readonly raw: Buffer;
  readonly key: KeyObject;
  /** What both static keys come to. */
  readonly shared: Buffer;
}

/** An initiation whose sender's key was read. Nothing proves yet that it has that key. */
export interface Initiation {
  /** Base64, as `wg` writes keys. */
  readonly publicKey: string;
  readonly packet: Buffer;
  readonly ephemeral: KeyObject;
  readonly chain: Buffer;
  readonly transcript: Buffer;
}

/** An initiation by one who has the key that it names. */
export interface ProvenInitiation extends Initiation {
  /** TAI64N: compares as bytes. */
  readonly timestamp: Buffer;
}

/** One static key, and what it answers. Nothing here throws, whatever the packet. */
export class Responder {
  readonly #secret: KeyObject;
  readonly #own: Buffer;
  readonly #begun: Buffer;
  readonly #mac1;

  /** With this private key (32 bytes), or a new one. */
  constructor(privateKey: Uint8Array | null = null) {
    this.#secret =
      privateKey === null
        ? generateKeyPairSync('x25519').privateKey
        : createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, privateKey]), format: 'der', type: 'pkcs8' });
    this.#own = rawOf(createPublicKey(this.#secret));
    this.#begun = hash(IDENTIFIED, this.#own);
    this.#mac1 = blake2s.create({ key: hash(LABEL_MAC1, this.#own), dkLen: MAC_BYTES });
  }

  /** Base64. */
  get publicKey(): string {
    return this.#own.toString('base64');
  }

  /** Whether this is an initiation by one who knows our public key: cheap, and asked first. */
  isMeantForUs(packet: Buffer): boolean {
    if (packet.length !== INITIATION_BYTES || packet.readUInt32LE(0) !== INITIATION) return false;
    return timingSafeEqual(
      this.#mac1.clone().update(packet.subarray(0, AT.mac1)).digest(),
      packet.subarray(AT.mac1, AT.mac2),
    );
  }

  /** Who begins; null: nobody, it is forged. */
  read(packet: Buffer): Initiation | null {
    const ephemeralRaw = packet.subarray(AT.ephemeral, AT.key);
    const [chain] = derived(CONSTRUCTION, ephemeralRaw, 1);
    const ephemeral = keyOf(ephemeralRaw);
    const sealedKey = packet.subarray(AT.key, AT.timestamp);
    const transcript = hash(this.#begun, ephemeralRaw);
    const shared = sharedSecret(this.#secret, ephemeral);
    if (shared === null) return null;
    const [chained, key] = derived(chain, shared, 2);
    const raw = open(key, 0n, sealedKey, transcript);
    return raw === null
      ? null
      : {
          publicKey: raw.toString('base64'),
          packet,
          ephemeral,
          chain: chained,
          transcript: hash(transcript, sealedKey),
        };
  }

  /** What is computed once for one who begins; null: this is no key that anybody can have. */
  initiator(publicKey: string): Initiator | null {
    const raw = Buffer.from(publicKey, 'base64');
    const key = keyOf(raw);
    const shared = sharedSecret(this.#secret, key);
    return shared === null ? null : { raw, key, shared };
  }

  /** Null: its sender does not have the key that it names. */
  prove(initiation: Initiation, { shared }: Initiator): ProvenInitiation | null {
    const sealed = initiation.packet.subarray(AT.timestamp, AT.mac1);
    const [chain, key] = derived(initiation.chain, shared, 2);
    const timestamp = open(key, 0n, sealed, initiation.transcript);
    return timestamp?.length === TIMESTAMP_BYTES
      ? { ...initiation, chain, transcript: hash(initiation.transcript, sealed), timestamp }
      : null;
  }

  /** The response, under an index of ours, and the key with which its packets to us come. */
  respond(
    { packet: asked, ephemeral, chain, transcript }: ProvenInitiation,
    initiator: Initiator,
    index: number,
  ): { readonly packet: Buffer; readonly receiveKey: Buffer } {
    const mine = generateKeyPairSync('x25519');
    const mineRaw = rawOf(mine.publicKey);
    let chained = derived(chain, mineRaw, 1)[0];
    for (const key of [ephemeral, initiator.key])
      chained = derived(chained, sharedSecret(mine.privateKey, key) ?? EMPTY, 1)[0];
    const [last, mixed, key] = derived(chained, NO_PRESHARED_KEY, 3);
    const sealed = seal(key, hash(hash(transcript, mineRaw), mixed));

    const packet = Buffer.alloc(RESPONSE_BYTES);
    packet.writeUInt32LE(RESPONSE, 0);
    packet.writeUInt32LE(index, 4);
    asked.copy(packet, 8, 4, 8);
    mineRaw.copy(packet, 12);
    sealed.copy(packet, 44);
    packet.set(blake2s(packet.subarray(0, 60), { key: hash(LABEL_MAC1, initiator.raw), dkLen: MAC_BYTES }), 60);
    return { packet, receiveKey: derived(last, EMPTY, 2)[0] };
  }
}

/** Which of our indexes an empty packet names, and its counter; null: this is no such packet. */
export function readKeepalive(packet: Buffer): { readonly index: number; readonly counter: bigint } | null {
  if (packet.length !== KEEPALIVE_BYTES || packet.readUInt32LE(0) !== TRANSPORT) return null;
  return { index: packet.readUInt32LE(4), counter: packet.readBigUInt64LE(8) };
}

/** Whether this empty packet was made by one who has the key. */
export function isKeepaliveOf(receiveKey: Buffer, packet: Buffer, counter: bigint): boolean {
  return open(receiveKey, counter, packet.subarray(KEEPALIVE_BYTES - TAG_BYTES), EMPTY) !== null;
}

/** Null where the outcome would be known to everybody: the other key is none (RFC 7748, 6.1). */
function sharedSecret(privateKey: KeyObject, publicKey: KeyObject): Buffer | null {
  try {
    return diffieHellman({ privateKey, publicKey });
  } catch {
    return null;
  }
}

function keyOf(raw: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' });
}

function rawOf(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX.length);
}

function hash(...parts: readonly Uint8Array[]): Buffer {
  const hashing = createHash('blake2s256');
  for (const part of parts) hashing.update(part);
  return hashing.digest();
}

/** By two hashes: `createHmac` takes four times as long with this hash. */
function hmac(key: Buffer, ...parts: readonly Uint8Array[]): Buffer {
  const [inner, outer] = [Buffer.alloc(BLOCK_BYTES, 0x36), Buffer.alloc(BLOCK_BYTES, 0x5c)];
  for (const [at, byte] of key.entries()) {
    inner[at] = byte ^ 0x36;
    outer[at] = byte ^ 0x5c;
  }
  return hash(outer, hash(inner, ...parts));
}

/** KDF1 to KDF3 of the paper: so many keys out of the chain and what is mixed in. */
function derived(chain: Buffer, input: Uint8Array, count: 1 | 2 | 3): readonly [Buffer, Buffer, Buffer] {
  const secret = hmac(chain, input);
  const first = hmac(secret, Buffer.of(1));
  const second = count > 1 ? hmac(secret, first, Buffer.of(2)) : EMPTY;
  return [first, second, count > 2 ? hmac(secret, second, Buffer.of(3)) : EMPTY];
}

function nonceOf(counter: bigint): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeBigUInt64LE(counter, 4);
  return nonce;
}

/** An empty text, sealed. */
function seal(key: Buffer, bound: Buffer): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, nonceOf(0n), { authTagLength: TAG_BYTES });
  cipher.setAAD(bound, { plaintextLength: 0 });
  cipher.final();
  return cipher.getAuthTag();
}

function open(key: Buffer, counter: bigint, sealed: Buffer, bound: Buffer): Buffer | null {
  const decipher = createDecipheriv('chacha20-poly1305', key, nonceOf(counter), { authTagLength: TAG_BYTES });
  const length = sealed.length - TAG_BYTES;
  decipher.setAuthTag(sealed.subarray(length));
  decipher.setAAD(bound, { plaintextLength: length });
  const text = decipher.update(sealed.subarray(0, length));
  try {
    decipher.final();
    return text;
  } catch {
    return null;
  }
}
