/** Keys of WireGuard: X25519, 32 bytes, in base64 as `wg` writes them and in hex as the sockets of interfaces do. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { isWireguardKey } from '../../protocol/wireguard.ts';

/** A private key and what others know of it. */
export interface KeyPair {
  /** Base64. A secret. */
  readonly privateKey: string;
  /** Base64. */
  readonly publicKey: string;
}

/** What stands before the 32 bytes of a private key in PKCS #8. Source: RFC 8410, 7 and 10.3. */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex');

/** Bytes that stand before the key in the SubjectPublicKeyInfo of a public key. Source: RFC 8410, 4. */
const PUBLIC_PREFIX_BYTES = 12;

/** A new pair. */
export function makeKeyPair(): KeyPair {
  const { d = '', x = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return {
    privateKey: Buffer.from(d, 'base64url').toString('base64'),
    publicKey: Buffer.from(x, 'base64url').toString('base64'),
  };
}

/** The public key of a private one, both base64. Throws for what is no key, without naming it. */
export function publicKeyOf(privateKey: string): string {
  const key = createPrivateKey({
    key: Buffer.concat([PRIVATE_PREFIX, bytesOf(privateKey)]),
    format: 'der',
    type: 'pkcs8',
  });
  return createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(PUBLIC_PREFIX_BYTES).toString('base64');
}

/** Base64 to hex. Throws for what is no key, without naming it. */
export function hexOfKey(key: string): string {
  return bytesOf(key).toString('hex');
}

/** 64 hex digits to base64; null for what is no key. */
export function keyOfHex(hex: string): string | null {
  return /^[\da-f]{64}$/u.test(hex) ? Buffer.from(hex, 'hex').toString('base64') : null;
}

function bytesOf(key: string): Buffer {
  if (!isWireguardKey(key)) throw new TypeError('this is no key of WireGuard: 32 bytes in base64');
  return Buffer.from(key, 'base64');
}
