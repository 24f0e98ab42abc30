/**
 * Looks through a gzipped asciicast, version 2, without ever holding what it unpacks to. Format:
 * https://docs.asciinema.org/manual/asciicast/v2/
 */
import { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';

/** Bytes that are unpacked at a time. */
const PIECE_BYTES = 65_536;

/** Longest first line, in bytes: size, time, command and a few variables. */
const HEADER_BYTES_MAX = 262_144;

const NEWLINE = 0x0a;

/** What every player needs of the first line. */
const Header = z.object({ version: z.literal(2), width: z.int().min(1), height: z.int().min(1) });

/** How many bytes it unpacks to, or why it cannot be kept. */
export type Inspection =
  | { readonly sizeBytes: number }
  | { readonly problem: 'too_large' | 'not_gzip' | 'not_asciicast' };

/**
 * Unpacks piece by piece, and stops at `bytesMax`: so a small body cannot become a large one. Resolves also for
 * garbage.
 */
export async function inspectCast(gzipped: Uint8Array, bytesMax: number): Promise<Inspection> {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const beginning: Buffer[] = [];
  let headerBytes = 0;
  let isHeaderWhole = false;
  let sizeBytes = 0;
  const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
  gunzip.end(gzipped);
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      sizeBytes += piece.length;
      if (sizeBytes > bytesMax) return { problem: 'too_large' };
      if (!isUtf8(utf8, piece)) return { problem: 'not_asciicast' };
      if (isHeaderWhole) continue;
      const end = piece.indexOf(NEWLINE);
      isHeaderWhole = end >= 0;
      const part = isHeaderWhole ? piece.subarray(0, end) : piece;
      headerBytes += part.length;
      if (headerBytes > HEADER_BYTES_MAX) return { problem: 'not_asciicast' };
      beginning.push(part);
      if (isHeaderWhole && !isHeader(beginning)) return { problem: 'not_asciicast' };
    }
  } catch {
    return { problem: 'not_gzip' }; // or cut off
  }
  return isUtf8(utf8, null) && (isHeaderWhole || isHeader(beginning)) ? { sizeBytes } : { problem: 'not_asciicast' };
}

/** A null piece is the end: then no character may be unfinished. */
function isUtf8(decoder: TextDecoder, piece: Uint8Array | null): boolean {
  try {
    if (piece === null) decoder.decode();
    else decoder.decode(piece, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function isHeader(pieces: readonly Buffer[]): boolean {
  try {
    return Header.safeParse(JSON.parse(Buffer.concat(pieces).toString('utf8'))).success;
  } catch {
    return false;
  }
}
