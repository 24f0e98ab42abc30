/** A file in the pieces that go over a connection. */

/** Bytes of a piece: an agent takes four times as many in one packet. */
export const PIECE_BYTES = 65_536;

/** Pieces of one file that are under way at the same time: 2 MiB, which fills 40 MiB/s over 50 ms. */
export const PIECES_AT_ONCE_MAX = 32;

/** So much of the end of a part that was left may have holes. */
const LAST_BYTES = PIECE_BYTES * PIECES_AT_ONCE_MAX;

/** A piece: where it begins in the file, and how long it is, in bytes. */
export interface Piece {
  readonly at: number;
  readonly length: number;
}

/** The pieces of a file from one byte to before another, in their order. */
export function* piecesOf(from: number, to: number): Generator<Piece> {
  for (let at = from; at < to; at += PIECE_BYTES) yield { at, length: Math.min(PIECE_BYTES, to - at) };
}

/**
 * How much of a part that was left can be gone on from, in bytes; 0: nothing. A whole one is only to be checked; what
 * was under way at the end of another comes again. One that is longer than the file is of another.
 */
export function keptBytes(partBytes: number, fileBytes: number): number {
  if (partBytes > fileBytes) return 0;
  return partBytes === fileBytes ? fileBytes : Math.max(0, partBytes - LAST_BYTES);
}
