/**
 * How much of an output is stored: all of it, or its first and last bytes up to the limit, COMMAND_OUTPUT_MAX_BYTES of
 * agent/config.ts.
 */
import { isContinuation, startOfCodePoint, utf8Decoder, withoutNul } from './output-text.ts';

/** Stands where the middle of an output was cut out. */
export const CUT_MARKER = '\n[... output cut here ...]\n';

const CUT_MARKER_BYTES = Buffer.from(CUT_MARKER);

/** A text and whether something is missing. */
export interface StoredOutput {
  readonly output: Buffer;
  readonly isCut: boolean;
}

/** What was captured: all of it in `head`, or the first and the last bytes. */
export interface CapturedBytes {
  readonly head: Buffer;
  /** Null when `head` is everything. */
  readonly tail: Buffer | null;
}

/** Bytes of the first half that are kept of an output over `bytesMax`; the last half gets as many. */
export function halfBytes(bytesMax: number): number {
  return Math.floor((bytesMax - CUT_MARKER_BYTES.length) / 2);
}

/**
 * The text to store, as UTF-8 of at most `bytesMax` bytes. Invalid bytes become U+FFFD, and so does NUL, which
 * PostgreSQL's text cannot hold. Too long: the first and last halves with CUT_MARKER between. No code point is ever
 * split.
 */
export function storedOutput(captured: CapturedBytes, bytesMax: number): StoredOutput {
  const head = replaced(captured.head);
  if (captured.tail === null && head.length <= bytesMax) return { output: head, isCut: false };
  const half = halfBytes(bytesMax);
  const tail = captured.tail === null ? head : replaced(withoutBrokenStart(captured.tail));
  const first = captured.tail === null ? head : replaced(withoutBrokenEnd(captured.head));
  return {
    output: Buffer.concat([
      first.subarray(0, startOfCodePoint(first, half)),
      CUT_MARKER_BYTES,
      tail.subarray(nextCodePoint(tail, tail.length - half)),
    ]),
    isCut: true,
  };
}

function nextCodePoint(bytes: Buffer, position: number): number {
  let at = Math.max(0, position);
  while (at < bytes.length && isContinuation(bytes[at])) at += 1;
  return at;
}

function replaced(bytes: Buffer): Buffer {
  return Buffer.from(withoutNul(utf8Decoder().decode(bytes)));
}

/** A cut through a code point is not the process's fault: its rest is dropped rather than shown as invalid. */
function withoutBrokenStart(bytes: Buffer): Buffer {
  let at = 0;
  while (at < 3 && at < bytes.length && isContinuation(bytes[at])) at += 1;
  return bytes.subarray(at);
}

function withoutBrokenEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}
