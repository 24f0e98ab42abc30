/**
 * The initiator's side of WireGuard's handshake, for tests: written from the paper apart from the responder, with other
 * calls.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { blake2s } from '@noble/hashes/blake2.js';

/** A key pair, as WireGuard's tools write the public one. */
export interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly text: string;
}

/** A new one. */
export function newPair(): Pair {
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  return { privateKey, publicKey, text: bytesOf(publicKey).toString('base64') };
}

/** A handshake that was begun. */
export interface Begun {
  readonly packet: Buffer;
  /** Reads the response. Throws when it is none for this handshake. Resolves with a maker of empty packets. */
  finish(response: Buffer): (counter: bigint) => Buffer;
}

/**
 * Begins one with a responder (its public key in base64). `stampMs` is its TAI64N. `tampered` changes the packet before
 * mac1 is made.
 */
export function begin(
  own: Pair,
  responder: string,
  stampMs: number,
  { index = 7, tampered = (_packet: Buffer): void => {} } = {},
): Begun {
  const theirs = createPublicKey({
    key: { kty: 'OKP', crv: 'X25519', x: Buffer.from(responder, 'base64').toString('base64url') },
    format: 'jwk',
  });
  const theirBytes = bytesOf(theirs);
  const mine = newPair();
  const packet = Buffer.alloc(148);
  packet.writeUInt32LE(1, 0);
  packet.writeUInt32LE(index, 4);
  let chain = hash('Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s');
  let transcript = hash(hash(chain, 'WireGuard v1 zx2c4 Jason@zx2c4.com'), theirBytes);
  const e = bytesOf(mine.publicKey);
  e.copy(packet, 8);
  [chain = e] = kdf(chain, e);
  transcript = hash(transcript, e);
  const first = kdf(chain, dh(mine, theirs));
  const sealedKey = seal(first[1], 0n, bytesOf(own.publicKey), transcript);
  sealedKey.copy(packet, 40);
  transcript = hash(transcript, sealedKey);
  const second = kdf(first[0], dh(own, theirs));
  const stamp = Buffer.alloc(12);
  stamp.writeBigUInt64BE(0x400000000000000an + BigInt(Math.floor(stampMs / 1_000)), 0);
  stamp.writeUInt32BE((stampMs % 1_000) * 1_000_000, 8);
  const sealedStamp = seal(second[1], 0n, stamp, transcript);
  sealedStamp.copy(packet, 88);
  transcript = hash(transcript, sealedStamp);
  tampered(packet);
  packet.set(mac1(theirBytes, packet.subarray(0, 116)), 116);

  return {
    packet,
    finish(response) {
      if (response.length !== 92 || response.readUInt32LE(0) !== 2 || response.readUInt32LE(8) !== index)
        throw new Error('no response to this');
      if (!Buffer.from(mac1(bytesOf(own.publicKey), response.subarray(0, 60))).equals(response.subarray(60, 76)))
        throw new Error('wrong mac1');
      const e2 = response.subarray(12, 44);
      const ephemeral = createPublicKey({
        key: { kty: 'OKP', crv: 'X25519', x: e2.toString('base64url') },
        format: 'jwk',
      });
      let chained = kdf(second[0], e2)[0];
      let said = hash(transcript, e2);
      chained = kdf(chained, dh(mine, ephemeral))[0];
      chained = kdf(chained, dh(own, ephemeral))[0];
      const third = kdf(chained, Buffer.alloc(32));
      said = hash(said, third[1]);
      open(third[2], response.subarray(44, 60), said);
      const sendKey = kdf(third[0], Buffer.alloc(0))[0];
      return (counter) => {
        const keepalive = Buffer.alloc(32);
        keepalive.writeUInt32LE(4, 0);
        response.copy(keepalive, 4, 4, 8);
        keepalive.writeBigUInt64LE(counter, 8);
        seal(sendKey, counter, Buffer.alloc(0), Buffer.alloc(0)).copy(keepalive, 16);
        return keepalive;
      };
    },
  };
}

/** Puts a mac1 for this responder on a packet of the length of an initiation. */
export function sign(packet: Buffer, responder: string): Buffer {
  packet.set(mac1(Buffer.from(responder, 'base64'), packet.subarray(0, 116)), 116);
  return packet;
}

function bytesOf(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
}

function dh(own: Pair, theirs: KeyObject): Buffer {
  return diffieHellman({ privateKey: own.privateKey, publicKey: theirs });
}

function hash(...parts: readonly (Buffer | string)[]): Buffer {
  return parts.reduce((hashing, part) => hashing.update(part), createHash('blake2s256')).digest();
}

function kdf(chain: Buffer, input: Buffer): readonly [Buffer, Buffer, Buffer] {
  const mac = (key: Buffer, ...parts: readonly Buffer[]): Buffer =>
    parts.reduce((hashing, part) => hashing.update(part), createHmac('blake2s256', key)).digest();
  const secret = mac(chain, input);
  const one = mac(secret, Buffer.from([1]));
  const two = mac(secret, one, Buffer.from([2]));
  return [one, two, mac(secret, two, Buffer.from([3]))];
}

function mac1(of: Buffer, bytes: Buffer): Uint8Array {
  return blake2s(bytes, { key: hash('mac1----', of), dkLen: 16 });
}

function nonce(counter: bigint): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeBigUInt64LE(counter, 4);
  return bytes;
}

function seal(key: Buffer, counter: bigint, text: Buffer, bound: Buffer): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, nonce(counter), { authTagLength: 16 });
  cipher.setAAD(bound, { plaintextLength: text.length });
  return Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

function open(key: Buffer, sealed: Buffer, bound: Buffer): void {
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce(0n), { authTagLength: 16 });
  decipher.setAuthTag(sealed);
  decipher.setAAD(bound, { plaintextLength: 0 });
  decipher.final();
}
