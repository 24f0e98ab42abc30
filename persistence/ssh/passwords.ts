/**
 * SSH passwords as Argon2id hashes, behind a small queue that all nodes share fairly: a hash costs some tens of ms of a
 * processor, and 19 MiB.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import type { Passwords as SurfacePasswords } from '../../api/ports.ts';
import { createFairQueue } from './fair-queue.ts';

/**
 * What a hash costs: memory in KiB, passes over it, and lanes. Source: OWASP, Password Storage Cheat Sheet, Argon2id.
 */
const MEMORY_KIB = 19_456;
const PASSES = 2;
const LANES = 1;

/** Bytes of salt and of hash. Source: RFC 9106, 4. */
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** The version of Argon2 that is 1.3, as a hash names it. */
const VERSION = 19;

/**
 * Hashes at a time: at most two of the four threads that Node also resolves names and reads files with, and never the
 * last core. Where two hashes had both cores of a machine, three nodes that guess passwords tripled the p99 of
 * everybody's commands (L1, `npm run bench -- liars`).
 */
export const HASHING_MAX = Math.min(2, Math.max(1, availableParallelism() - 1));

/** Hashes that wait for those, at most: some two seconds of work. Beyond, who asks is turned away. */
export const HASHES_WAITING_MAX = 64;

/** `$argon2id$v=19$m=…,t=…,p=…$salt$hash`, both in base64 without padding (PHC string format). */
const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,64})\$([A-Za-z0-9+/]{16,86})$/u;

/** The Passwords port of surfaces, and the check of a login. */
export interface Passwords extends SurfacePasswords {
  /**
   * Whether this is the password; null: too many wait already. A null hash is never matched, and takes as long. Those
   * of other flows do not wait for all of one.
   */
  verify(password: string, hash: string | null, flow: string): Promise<boolean | null>;
}

/** Hashes of new passwords are a flow beside those of the nodes. */
const HASHING_QUEUE = '';

const derive = promisify(argon2);

interface Derivation {
  readonly memory: number;
  readonly passes: number;
  readonly lanes: number;
  readonly salt: Uint8Array;
  readonly bytes: number;
}

/** Nobody's hash: what a password is held against where there is none, so that both take as long. */
const NOBODY: Derivation = {
  memory: MEMORY_KIB,
  passes: PASSES,
  lanes: LANES,
  salt: randomBytes(SALT_BYTES),
  bytes: HASH_BYTES,
};

/** Passwords with an empty queue. */
export function createPasswords(): Passwords {
  const queue = createFairQueue({ runningMax: HASHING_MAX, waitingMax: HASHES_WAITING_MAX });
  return {
    hash: (password) =>
      queue(HASHING_QUEUE, async () => {
        const salt = randomBytes(SALT_BYTES);
        const hash = await hashOf(password, { ...NOBODY, salt });
        return `$argon2id$v=${VERSION}$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(salt)}$${unpadded(hash)}`;
      }),
    verify: (password, stored, flow) =>
      queue(flow, async () => {
        const known = stored === null ? null : read(stored);
        const hash = await hashOf(password, known?.derivation ?? NOBODY);
        return known !== null && timingSafeEqual(hash, known.hash);
      }),
  };
}

/** Composed and decomposed letters are the same password: it depends on the keyboard which of them a client sends. */
async function hashOf(password: string, { memory, passes, lanes, salt, bytes }: Derivation): Promise<Uint8Array> {
  return derive('argon2id', {
    message: Buffer.from(password.normalize('NFC')),
    nonce: salt,
    memory,
    passes,
    parallelism: lanes,
    tagLength: bytes,
  });
}

/** Throws for what is no hash of ours: a row that someone else wrote. */
function read(stored: string): { readonly derivation: Derivation; readonly hash: Uint8Array } {
  const [, memory, passes, lanes, salt = '', hash = ''] = PHC.exec(stored) ?? [];
  if (memory === undefined) throw new Error('a stored password hash is not an Argon2id hash');
  const bytes = Buffer.from(hash, 'base64');
  return {
    derivation: {
      memory: Number(memory),
      passes: Number(passes),
      lanes: Number(lanes),
      salt: Buffer.from(salt, 'base64'),
      bytes: bytes.length,
    },
    hash: bytes,
  };
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/u, '');
}
