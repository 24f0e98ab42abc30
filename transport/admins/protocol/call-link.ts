/**
 * What admins say over a connection of calls: a number, and a call or its answer as they are in a request of their own.
 * Under the number 0 each side speaks of the connection itself.
 */

/** Bytes of the number at the beginning: no connection carries 2^48 calls. */
const NUMBER_BYTES = 6;

/** Of the connection itself. `leaving`: calls that are sent from now on are told that this admin is busy. */
export type LinkWord = 'ping' | 'pong' | 'leaving';

/** A call or an answer under its number, from 1 on; the other side answers each number once. */
export interface NumberedMessage {
  readonly n: number;
  readonly body: Buffer;
}

/** As it goes out. */
export function encodeNumbered(n: number, body: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(NUMBER_BYTES + body.byteLength);
  message.writeUIntBE(n, 0, NUMBER_BYTES);
  message.set(body, NUMBER_BYTES);
  return message;
}

/** Null: it is too short to have a number. */
export function decodeNumbered(message: Buffer): NumberedMessage | null {
  if (message.byteLength < NUMBER_BYTES) return null;
  return { n: message.readUIntBE(0, NUMBER_BYTES), body: message.subarray(NUMBER_BYTES) };
}

/** What is said of the connection itself. Words that only a newer admin knows are left out. */
export const LINK_WORDS: Readonly<Record<LinkWord, Buffer>> = {
  ping: encodeNumbered(0, Buffer.from('ping')),
  pong: encodeNumbered(0, Buffer.from('pong')),
  leaving: encodeNumbered(0, Buffer.from('leaving')),
};
