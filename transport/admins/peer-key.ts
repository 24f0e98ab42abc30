/**
 * By what admins know each other, and what nobody else can read: keys that are made from ENCRYPTION_KEY, which every
 * admin has and no client and no agent ever does. Source: docs/decisions/admin-link.md.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';
import { writtenHeader, type PeerHeader, type ReceivedHeader } from './peer-header.ts';

/** Bytes of a nonce, a tag (NIST SP 800-38D), a proof and a key. 128 bits of an HMAC are no shorter than the tag. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PROOF_BYTES = 16;
const KEY_BYTES = 32;

const CIPHER = 'aes-256-gcm';

const DAY_MS = 86_400_000;

/** Keys that are remembered: two days of two directions of 64 admins. Others are made again. */
const KEYS_KEPT_MAX = 256;

/** What a key is for. */
type Purpose = 'call' | 'answer';

/** 32 bytes made from an ENCRYPTION_KEY, and which. */
export interface LinkRoot {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** Made once: bytes would be made a key of anew for each use, which takes longer than the use (25 µs of 50). */
interface Keys {
  readonly proof: KeyObject;
  readonly seal: KeyObject;
}

/**
 * The keys of one process. One a purpose, pair of processes, direction and day: so random nonces stay far below the
 * 2^32 of one key, and what was recorded before a restart is worth nothing after it.
 */
export class PeerKeys {
  readonly #roots: () => readonly LinkRoot[];
  /** By which of them each header was proven or written: all that belongs to a header is under that one. */
  readonly #rootOf = new WeakMap<ReceivedHeader, LinkRoot>();
  readonly #admin: string;
  /** This process. */
  readonly instance: string;
  readonly #kept = new Map<string, Keys>();

  /**
   * `roots`: of the key by which this admin speaks, then of others by which it hears too, while keys are rotated.
   * `admin` and `instance`: ids of this admin and of this process.
   */
  constructor(
    roots: () => readonly LinkRoot[],
    { admin, instance }: { readonly admin: string; readonly instance: string },
  ) {
    this.#roots = roots;
    this.#admin = admin;
    this.instance = instance;
  }

  /** A header that proves a request of this method and path, to that process, sent now by the database's clock. */
  header(route: string, toInstance: string, nowMs: number): ReceivedHeader {
    const said: PeerHeader = {
      fromAdmin: this.#admin,
      fromInstance: this.instance,
      toInstance,
      sentAtMs: nowMs,
      nonce: randomBytes(NONCE_BYTES).toString('base64url'),
    };
    const unproven = writtenHeader(said);
    const root = this.#speaking();
    const proof = this.#proof(root, route, said, unproven).toString('base64url');
    const header = { said, unproven, proof, text: `${unproven}.${proof}` };
    this.#rootOf.set(header, root);
    return header;
  }

  /** Whether whoever wrote this header has a key. In constant time for each key. */
  isProven(route: string, header: ReceivedHeader): boolean {
    const { said, unproven, proof } = header;
    const given = Buffer.from(proof, 'base64url');
    if (given.byteLength !== PROOF_BYTES) return false;
    const root = this.#roots().find((one) => timingSafeEqual(given, this.#proof(one, route, said, unproven)));
    if (root !== undefined) this.#rootOf.set(header, root);
    return root !== undefined;
  }

  /** Seals the body that belongs to a header: nothing of either can be changed, or come with the other. */
  sealCall(header: ReceivedHeader, body: Uint8Array): Buffer {
    const { said, text } = header;
    return sealed(this.#of('call', header).seal, Buffer.from(said.nonce, 'base64url'), text, body);
  }

  /** Null: it was sealed by nobody who has the key, or not for this header. */
  openCall(header: ReceivedHeader, body: Buffer): Buffer | null {
    const { said, text } = header;
    return opened(this.#of('call', header).seal, Buffer.from(said.nonce, 'base64url'), text, body);
  }

  /** Seals the answer to a request, which alone it answers. */
  sealAnswer(header: ReceivedHeader, body: Uint8Array): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    return Buffer.concat([nonce, sealed(this.#of('answer', header).seal, nonce, header.text, body)]);
  }

  /** Null: it is no answer to this request of whoever was asked. */
  openAnswer(header: ReceivedHeader, body: Buffer): Buffer | null {
    const { seal } = this.#of('answer', header);
    return opened(seal, body.subarray(0, NONCE_BYTES), header.text, body.subarray(NONCE_BYTES));
  }

  /**
   * The keys of the connection that this header opens, one a direction. No other connection has them: its header has
   * another nonce, and none is taken twice.
   */
  connectionKeys(header: ReceivedHeader): { readonly toDialled: KeyObject; readonly toDialler: KeyObject } {
    const [toDialled, toDialler] = twoKeys(this.#rootBehind(header).bytes, `connection|${header.unproven}`);
    return { toDialled, toDialler };
  }

  #proof(root: LinkRoot, route: string, said: PeerHeader, unproven: string): Buffer {
    const { proof } = this.#made(root, 'call', said);
    return createHmac('sha256', proof).update(`${route}\n${unproven}`).digest().subarray(0, PROOF_BYTES);
  }

  #of(purpose: Purpose, header: ReceivedHeader): Keys {
    return this.#made(this.#rootBehind(header), purpose, header.said);
  }

  #rootBehind(header: ReceivedHeader): LinkRoot {
    return this.#rootOf.get(header) ?? this.#speaking();
  }

  #speaking(): LinkRoot {
    const [root] = this.#roots();
    if (root === undefined) throw new Error('There is no key to speak by.');
    return root;
  }

  /** Remembered where this process is one of the two: a stranger could name any number of others. */
  #made({ id, bytes }: LinkRoot, purpose: Purpose, { fromInstance, toInstance, sentAtMs }: PeerHeader): Keys {
    const info = [purpose, fromInstance, toInstance, Math.floor(sentAtMs / DAY_MS)].join('|');
    const known = this.#kept.get(`${id}|${info}`);
    if (known !== undefined) return known;
    const [proof, seal] = twoKeys(bytes, info);
    const keys = { proof, seal };
    if (fromInstance !== this.instance && toInstance !== this.instance) return keys;
    if (this.#kept.size >= KEYS_KEPT_MAX) this.#kept.clear();
    this.#kept.set(`${id}|${info}`, keys);
    return keys;
  }
}

function twoKeys(root: Uint8Array, info: string): readonly [KeyObject, KeyObject] {
  const made = Buffer.from(hkdfSync('sha256', root, '', info, 2 * KEY_BYTES));
  return [createSecretKey(made.subarray(0, KEY_BYTES)), createSecretKey(made.subarray(KEY_BYTES))];
}

/** Tag and text. No nonce may come twice under one key. */
export function sealed(key: KeyObject, nonce: Buffer, boundTo: string, body: Uint8Array): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(boundTo));
  const text = cipher.update(body);
  cipher.final(); // of a counter mode it is empty
  return Buffer.concat([cipher.getAuthTag(), text]);
}

/** Null: it was not sealed with this key, nonce and what it is bound to. */
export function opened(key: KeyObject, nonce: Buffer, boundTo: string, body: Buffer): Buffer | null {
  if (nonce.byteLength !== NONCE_BYTES || body.byteLength < TAG_BYTES) return null;
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(body.subarray(0, TAG_BYTES));
  try {
    const text = decipher.update(body.subarray(TAG_BYTES));
    decipher.final(); // of a counter mode it is empty: it throws where the tag is another one
    return text;
  } catch {
    return null; // another key, header or text
  }
}
