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

/** What ids of keys are made for, and their length: 64 bits tell a handful of keys apart. */
const ID_INFO = 'edge encryption key id v1';
const ID_DIGITS = 16;

/** Bytes of a new secret: 256 bits. */
const SECRET_BYTES = 32;

/** A text that does not open: another key, another name, or changed bytes. Which of them cannot be told. */
export class SealBroken extends Error {
  override readonly name = 'SealBroken';
}

/** The Vault port of surfaces, and the way back. */
export interface Vault extends SurfaceVault {
  /** What was sealed under the same name, with whichever of its keys. Throws SealBroken. */
  open(sealed: string, boundTo: string): string;
}

/** 32 bytes that only who has a key can make (HKDF-SHA256, RFC 5869), and the id of that key. */
export interface Root {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/**
 * A vault over the keys of a rotation: one of them seals, and all of them open. Source: docs/decisions/key-rotation.md.
 */
export interface Keyring extends Vault {
  /** Id of ENCRYPTION_KEY, which is to seal once all admins want it. */
  readonly wanted: string;
  /** Ids of all keys, that one first. An id tells keys apart and nothing else of them. */
  readonly ids: readonly string[];
  /** Id of the key that seals now. */
  sealing(): string;
  /** From now on the key of this id seals. Throws where it is none of these. */
  sealWith(id: string): void;
  /** Seals under the key of this id. Throws where it is none of these. */
  sealUnder(id: string, text: string, boundTo: string): string;
  /** Id of the key that opens it; null: none of these. */
  keyOf(sealed: string, boundTo: string): string | null;
  /** The same text under the key that seals now; null: it is that already. Throws SealBroken. */
  sealedAnew(sealed: string, boundTo: string): string | null;
  /** Others for each `info`: one of the key that seals now, then one of each other. */
  roots(info: string): readonly Root[];
}

/** A vault under ENCRYPTION_KEY, which seals at first, and former keys: each of 32 bytes, none twice. */
export function createVault(key: Uint8Array, former: readonly Uint8Array[] = []): Keyring {
  const keys = [key, ...former].map((bytes) => ({ id: idOf(bytes), bytes }));
  const rootsOf = new Map<string, readonly Root[]>();
  let sealing = keys[0]!;
  const keyWith = (id: string) => {
    const found = keys.find((one) => one.id === id);
    if (found === undefined) throw new Error(`There is no encryption key ${id} here.`);
    return found;
  };
  const opened = (sealed: string, boundTo: string) => {
    const inTurn = [sealing, ...keys.filter((one) => one !== sealing)];
    for (const { id, bytes } of inTurn.slice(0, -1))
      try {
        return { id, text: open(bytes, sealed, boundTo) };
      } catch (error) {
        if (!(error instanceof SealBroken)) throw error;
      }
    const { id, bytes } = inTurn.at(-1)!;
    return { id, text: open(bytes, sealed, boundTo) };
  };
  return {
    wanted: sealing.id,
    ids: keys.map(({ id }) => id),
    newSecret: () => randomBytes(SECRET_BYTES).toString('base64url'),
    sha256: (text) => createHash('sha256').update(text, 'utf8').digest(),
    seal: (text, boundTo) => seal(sealing.bytes, text, boundTo),
    open: (sealed, boundTo) => opened(sealed, boundTo).text,
    sealing: () => sealing.id,
    sealWith(id) {
      sealing = keyWith(id);
    },
    sealUnder: (id, text, boundTo) => seal(keyWith(id).bytes, text, boundTo),
    keyOf(sealed, boundTo) {
      try {
        return opened(sealed, boundTo).id;
      } catch (error) {
        if (error instanceof SealBroken) return null;
        throw error;
      }
    },
    sealedAnew(sealed, boundTo) {
      const { id, text } = opened(sealed, boundTo);
      return id === sealing.id ? null : seal(sealing.bytes, text, boundTo);
    },
    roots(info) {
      const made = rootsOf.get(info) ?? keys.map(({ id, bytes }) => ({ id, bytes: derived(bytes, info) }));
      rootsOf.set(info, made); // a handful of constants
      return made.toSorted((a, b) => Number(b.id === sealing.id) - Number(a.id === sealing.id));
    },
  };
}

function derived(key: Uint8Array, info: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, '', info, KEY_BYTES));
}

function idOf(key: Uint8Array): string {
  if (key.byteLength !== KEY_BYTES)
    throw new Error(`ENCRYPTION_KEY has ${key.byteLength} bytes: it should have ${KEY_BYTES}`);
  return Buffer.from(derived(key, ID_INFO)).toString('hex').slice(0, ID_DIGITS);
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
