/** Bytes of a process as text: UTF-8 with what is invalid replaced, split between code points. */
import type { OutputPiece } from '../../session/ports.ts';

/** A decoder that replaces invalid bytes by U+FFFD and keeps a byte order mark. */
export function utf8Decoder(): InstanceType<typeof TextDecoder> {
  return new TextDecoder('utf-8', { ignoreBOM: true });
}

/** Text as the decoder gave it, as it is stored: NUL replaced. */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}

/**
 * The piece of at most `bytesMax` bytes at the start of valid UTF-8 `bytes`, which begin at byte `offset` of the whole.
 */
export function pieceOf(bytes: Buffer, offset: number, bytesMax: number): OutputPiece {
  const end = startOfCodePoint(bytes, bytesMax);
  return { text: bytes.toString('utf8', 0, end), next: offset + end };
}

/** The largest position up to `position` at which a code point of valid UTF-8 starts or the bytes end. */
export function startOfCodePoint(bytes: Buffer, position: number): number {
  let at = Math.min(position, bytes.length);
  while (at > 0 && at < bytes.length && isContinuation(bytes[at])) at -= 1;
  return at;
}

/** Whether a byte of UTF-8 goes on with a code point that began before it. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
