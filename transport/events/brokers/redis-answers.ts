/** What a Redis may say: answers in RESP2, none of which is long. The client's own reader believes whatever comes. */
import type { Duplex } from 'node:stream';
import type { Redis } from 'ioredis';
import dataHandler from 'ioredis/built/DataHandler.js';
import { containListeners } from '../../net/streams/contained.ts';

/**
 * Bytes of one answer, in bytes: those that we ask for have some KiB, and one read brings up to 64. The client gathers
 * whatever an answer announces.
 */
export const ANSWER_BYTES_MAX = 1_048_576;

/** Of a line so much is looked at: a number of 64 bits has 20 digits and a sign. */
const LINE_CHARS = 32;

const [CR, LF] = [0x0d, 0x0a];

/** What ends a connection, in words of which `redisReason` knows what they mean. */
const NO_ANSWER = 'Protocol error: that is no answer of a Redis';

/** What the client has for itself. */
interface Inside {
  readonly stream: Duplex;
  /** What was asked and not answered. */
  readonly commandQueue: { readonly length: number };
  /** Set where it hears messages, which nobody asks for one by one. */
  readonly condition?: { readonly subscriber?: unknown } | null;
}

/**
 * The client's reader tells an answer that nobody asked for as an error and goes on, so that it may take the next one
 * for the answer to something else; or it throws, outside of every listener, which would end the program.
 * Here it ends the connection. For exactly the version in package.json; a test looks whether it is still so.
 */
(
  dataHandler as unknown as {
    readonly default: { readonly prototype: { dispatch(this: { readonly redis: Inside }, read: () => void): void } };
  }
).default.prototype.dispatch = function dispatch(read) {
  const { stream, commandQueue, condition } = this.redis;
  if (stream.destroyed) return; // it reads the rest of a piece
  sinceAnswer.set(stream, 0);
  const isAsked = commandQueue.length > 0 || Boolean(condition?.subscriber);
  try {
    if (!isAsked) throw new Error('it answers what nobody asked');
    read();
  } catch (error) {
    stream.destroy(error as Error);
  }
};

/** Bytes that came on each connection since its last whole answer, which may be nested. */
const sinceAnswer = new WeakMap<Duplex, number>();

/**
 * Ends the connection, which was just made, when what comes is no RESP2, or longer than ANSWER_BYTES_MAX: before the
 * client reads it. That takes `$$2` for a length of less than zero, and then reads the same bytes for ever.
 */
export function takeAnswersOnly(client: Redis): void {
  const { stream } = client;
  const check = answerCheck();
  containListeners(stream); // a throw keeps the bytes from the client, and ends the connection
  stream.prependListener('data', (bytes: Buffer) => {
    check(bytes);
    const count = (sinceAnswer.get(stream) ?? 0) + bytes.length;
    if (count > ANSWER_BYTES_MAX) throw new Error('its answer has no end');
    sinceAnswer.set(stream, count);
  });
}

/** Throws at the first piece of what is no RESP2. It ends lines, and passes over texts, as the client does. */
export function answerCheck(): (piece: Buffer) => void {
  let line = '';
  let isBehindCr = false;
  let textBytes = 0;
  return (piece) => {
    for (let at = 0; at < piece.length;) {
      if (textBytes > 0) {
        const passed = Math.min(textBytes, piece.length - at);
        textBytes -= passed;
        at += passed;
      } else if (isBehindCr) {
        if (piece[at] !== LF) throw new Error(NO_ANSWER);
        textBytes = textBytesBehind(line);
        line = '';
        isBehindCr = false;
        at += 1;
      } else {
        const end = piece.indexOf(CR, at);
        line += piece.toString('latin1', at, Math.min(at + LINE_CHARS - line.length, end === -1 ? piece.length : end));
        if (!/^[-+:$*]/u.test(line)) throw new Error(NO_ANSWER);
        isBehindCr = end !== -1;
        at = end === -1 ? piece.length : end + 1;
      }
    }
  };
}

/** Bytes of the text that a line announces, with its end. */
function textBytesBehind(line: string): number {
  if (/^[-+]/u.test(line) || /^:[-+]?\d{1,19}$/u.test(line)) return 0;
  const count = Number(/^[$*](?<count>-1|\d{1,7})$/u.exec(line)?.groups?.['count'] ?? NaN);
  if (!(count <= ANSWER_BYTES_MAX)) throw new Error(NO_ANSWER);
  return line.startsWith('$') && count >= 0 ? count + 2 : 0;
}
