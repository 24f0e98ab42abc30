/** Seals the messages of one connection between admins, each way in order: its place is its nonce. */
import type { KeyObject } from 'node:crypto';
import { opened, sealed } from './peer-key.ts';

/** Bytes of the counter at the end of a nonce: no connection says 2^48 things. Source: NIST SP 800-38D, 8.2.1. */
const NONCE_BYTES = 12;
const COUNTER_BYTES = 6;

/** What messages are bound to besides their place: their key is of this connection and direction alone. */
const BOUND_TO = '';

/** The two keys of one connection. Each is used for one direction of it and for nothing else. */
export class MessageSeals {
  readonly #outward: KeyObject;
  readonly #inward: KeyObject;
  #sealed = 0;
  #opened = 0;

  constructor(outward: KeyObject, inward: KeyObject) {
    this.#outward = outward;
    this.#inward = inward;
  }

  /** The next message that leaves. */
  seal(message: Uint8Array): Buffer {
    const nonce = nonceOf(this.#sealed);
    this.#sealed += 1;
    return sealed(this.#outward, nonce, BOUND_TO, message);
  }

  /** The next message that came. Null: it is not the one that was sealed next by the other side. */
  open(message: Buffer): Buffer | null {
    const nonce = nonceOf(this.#opened);
    this.#opened += 1;
    return opened(this.#inward, nonce, BOUND_TO, message);
  }
}

function nonceOf(place: number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUIntBE(place, NONCE_BYTES - COUNTER_BYTES, COUNTER_BYTES);
  return nonce;
}
