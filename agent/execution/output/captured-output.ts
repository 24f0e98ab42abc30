/**
 * What the exec shim of one execution has captured, read from its files: any position while it runs, head and tail in
 * the end.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SHIM_FILES } from '../exec-shim/exec-shim-script.ts';
import { isEmptyPlain, plainSize, readPlain, readPlainSurely } from '../exec-shim/plain-file.ts';
import type { CapturedBytes } from './output-limit.ts';

/** Times a reader begins anew because the exec shim went on to the next file meanwhile. */
const RETRIES_MAX = 20;

/** Longest text of the file that says where the ring is, in bytes. */
const SEGMENT_BYTES_MAX = 64;

/** What it says: numbers that add up exactly. The script may have written anything else. */
const SEGMENT = /^(\d{1,15}) (\d{1,15})\n$/;

const NOTHING = Buffer.alloc(0);

/** How its files are read: of an output that goes on, or of one that is over and is read once. */
type Reader = typeof readPlain;

/** Bytes at a position of the raw output. */
export interface RawPiece {
  /** Where they begin: later than asked for when what was there is not kept any more. */
  readonly position: number;
  readonly bytes: Buffer;
}

interface Extent {
  readonly file: string;
  /** Position of its first byte in the output. */
  readonly from: number;
  readonly to: number;
}

/** Reads the files in an exec shim's directory. Missing files read as empty. */
export class CapturedOutput {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Length of the output so far, in raw bytes. */
  get length(): number {
    return this.#extents(readPlain).at(-1)?.to ?? 0;
  }

  /** True when output got lost: the disk was full, or took no further file. */
  get hasLoss(): boolean {
    return isEmptyPlain(join(this.#directory, SHIM_FILES.whole)) || existsSync(join(this.#directory, SHIM_FILES.cut));
  }

  /**
   * At most `bytesMax` bytes from `position` on, or from the first later position that is still kept; empty at the end.
   */
  read(position: number, bytesMax: number): RawPiece {
    return this.#read(position, bytesMax, readPlain);
  }

  #read(position: number, bytesMax: number, reader: Reader): RawPiece {
    for (let attempt = 0; attempt < RETRIES_MAX; attempt += 1) {
      const before = this.#segment(reader);
      const extent = this.#extents(reader).find(({ to }) => position < to);
      if (extent === undefined) return { position, bytes: Buffer.alloc(0) };
      const from = Math.max(position, extent.from);
      const bytes = reader(extent.file, from - extent.from, Math.min(bytesMax, extent.to - from)) ?? NOTHING;
      // The exec shim empties a file before it uses it again: what was read while it moved on may be of either time.
      if (this.#segment(reader) === before) return { position: from, bytes };
    }
    return { position, bytes: Buffer.alloc(0) };
  }

  /**
   * All of it when it is kept whole and at most `bytesMax` long, else its first and last `half` bytes, less where fewer
   * are kept on that side of a gap: the exec shim had a lower limit then. For an output that is over. Throws while no
   * file can be opened.
   */
  ends(bytesMax: number, half: number): CapturedBytes {
    const extents = this.#extents(readPlainSurely);
    const length = extents.at(-1)?.to ?? 0;
    const gap = extents.findIndex((extent, index) => extent.from !== (extents[index - 1]?.to ?? 0));
    if (gap === -1 && length <= bytesMax) return { head: this.#gather(0, length), tail: null };
    const [before, behind] = gap === -1 ? [length, 0] : [extents[gap - 1]?.to ?? 0, extents[gap]?.from ?? 0];
    return {
      head: this.#gather(0, Math.min(half, before)),
      tail: this.#gather(Math.max(length - half, behind), length),
    };
  }

  #gather(from: number, to: number): Buffer {
    const pieces: Buffer[] = [];
    for (let position = from; position < to;) {
      const piece = this.#read(position, to - position, readPlainSurely);
      if (piece.bytes.length === 0 || piece.position >= to) break;
      pieces.push(piece.bytes);
      position = piece.position + piece.bytes.length;
    }
    return Buffer.concat(pieces);
  }

  #extents(reader: Reader): Extent[] {
    const first = { file: join(this.#directory, SHIM_FILES.first), from: 0, to: this.#size(SHIM_FILES.first) };
    const [, number = 0, before = 0] = SEGMENT.exec(this.#segment(reader))?.map(Number) ?? [];
    if (number === 0) return [first];
    const currentName = SHIM_FILES.ring[(number % 2) as 0 | 1];
    const current = { file: join(this.#directory, currentName), from: before, to: before + this.#size(currentName) };
    if (number === 1) return [first, current];
    const olderName = SHIM_FILES.ring[((number - 1) % 2) as 0 | 1];
    const older = { file: join(this.#directory, olderName), from: before - this.#size(olderName), to: before };
    return [first, older, current];
  }

  /** "<number> <bytes before>\n", or empty. The exec shim writes it with a newline: without one it is being written. */
  #segment(reader: Reader): string {
    for (let attempt = 0; attempt < RETRIES_MAX; attempt += 1) {
      const text = reader(join(this.#directory, SHIM_FILES.segment), 0, SEGMENT_BYTES_MAX)?.toString() ?? null;
      if (text === null) return '';
      if (text.endsWith('\n')) return text;
    }
    return '';
  }

  #size(name: string): number {
    return plainSize(join(this.#directory, name));
  }
}
