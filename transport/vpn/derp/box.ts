/**
 * The two boxes at the start of a connection, by which both sides prove their keys: NaCl's crypto_box. Keys are those
 * of WireGuard. See docs/decisions/relay.md.
 */
import { randomBytes } from 'node:crypto';
import nacl from 'tweetnacl';
import { KEY_BYTES, NONCE_BYTES } from './frames.ts';

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
