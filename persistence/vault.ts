/** Secrets: random, hashed and sealed (E3). */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import type { Vault as SurfaceVault } from '../api/ports.ts';

/** First word of a sealed text: names cipher and layout, so that both can change later. */
const VERSION = 'v1';

const CIPHER = 'aes-256-gcm';

/**
 * Bytes of the key (AES-256), the nonce and the tag (NIST SP 800-38D). A random nonce is safe for 2^32 texts under one
 * key.
 */
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Bytes of a new secret: 256 bits. */
const SECRET_BYTES = 32;

/** A text that does not open: another key, another name, or changed bytes. Which of them cannot be told. */
export class SealBroken extends Error {
  override readonly name = 'SealBroken';
}

/** The Vault port of surfaces, and what only other parts need: the way back, and keys of their own. */
export interface Vault extends SurfaceVault {
  /** What was sealed under the same name. Throws SealBroken. */
  open(sealed: string, boundTo: string): string;
  /** 32 bytes that only who has ENCRYPTION_KEY can make, others for each `info` (HKDF-SHA256, RFC 5869). */
  derive(info: string): Uint8Array;
}

/** A vault under this key of 32 bytes. `open` throws SealBroken. */
export function createVault(key: Uint8Array): Vault {
  if (key.byteLength !== KEY_BYTES)
    throw new Error(`ENCRYPTION_KEY has ${key.byteLength} bytes: it should have ${KEY_BYTES}`);
  return {
    newSecret: () => randomBytes(SECRET_BYTES).toString('base64url'),
    sha256: (text) => createHash('sha256').update(text, 'utf8').digest(),
    seal: (text, boundTo) => seal(key, text, boundTo),
    open: (sealed, boundTo) => open(key, sealed, boundTo),
    derive: (info) => new Uint8Array(hkdfSync('sha256', key, '', info, KEY_BYTES)),
  };
}

/** `v1.<nonce>.<tag and text>`, both base64url. */
function seal(key: Uint8Array, text: string, boundTo: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(boundTo));
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return [VERSION, nonce.toString('base64url'), Buffer.concat([cipher.getAuthTag(), body]).toString('base64url')].join(
    '.',
  );
}

function open(key: Uint8Array, sealed: string, boundTo: string): string {
  const [version, nonceText, bodyText, ...rest] = sealed.split('.');
  const nonce = Buffer.from(nonceText ?? '', 'base64url');
  const body = Buffer.from(bodyText ?? '', 'base64url');
  if (version !== VERSION || rest.length > 0 || nonce.byteLength !== NONCE_BYTES || body.byteLength < TAG_BYTES)
    throw new SealBroken('not a sealed text');
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(body.subarray(0, TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(body.subarray(TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch (error) {
    throw new SealBroken('sealed under another key or name, or changed', { cause: error });
  }
}
