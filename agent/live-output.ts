/** An output as it grows, as text with byte offsets, for those who watch. */
import type { CapturedOutput } from './captured-output.ts';
import { utf8Decoder, withoutNul } from './output-text.ts';
import type { OutputCursor } from './ports.ts';

/** Most bytes of UTF-8 that one raw byte becomes: U+FFFD for an invalid one. */
const REPLACEMENT_FACTOR = 3;

/** Raw bytes that the decoder may hold back between pieces, as text. */
const HELD_BACK_BYTES_MAX = 12;

/**
 * Follows the output of an execution that waits or runs. Offsets count bytes of the replaced UTF-8 of the whole output.
 * What was dropped before it could be read (beyond the kept halves) counts as its raw length, and shows as a jump.
 */
export class LiveOutput implements OutputCursor {
  readonly #wake: () => void;
  readonly #onClose: (self: LiveOutput) => void;
  readonly #decoder = utf8Decoder();
  readonly #wantedOffset: number;
  #captured: CapturedOutput | null = null;
  #position = 0;
  #offset = 0;
  #isOver = false;
  #isFlushed = false;
  #isClosed = false;

  constructor(offset: number, wake: () => void, onClose: (self: LiveOutput) => void) {
    this.#wantedOffset = offset;
    this.#wake = wake;
    this.#onClose = onClose;
  }

  /** The execution has started: here is its output. */
  attach(captured: CapturedOutput): void {
    this.#captured = captured;
  }

  /** Calls for a read when there is more. */
  look(): void {
    if (!this.#isClosed && (this.#captured?.length ?? 0) > this.#position) this.#wake();
  }

  /** The execution is over: what is in the files is all. */
  end(): void {
    this.#isOver = true;
    if (!this.#isClosed) this.#wake();
  }

  get ended(): boolean {
    return this.#isOver;
  }

  get offset(): number {
    return Math.max(this.#offset, this.#wantedOffset);
  }

  read(bytesMax: number): { offset: number; text: string } | null {
    const rawMax = Math.floor((bytesMax - HELD_BACK_BYTES_MAX) / REPLACEMENT_FACTOR);
    for (;;) {
      const piece = this.#next(rawMax);
      if (piece === null) return null;
      if (piece.offset >= this.#wantedOffset) return piece;
      const bytes = Buffer.from(piece.text);
      if (piece.offset + bytes.length <= this.#wantedOffset) continue;
      return { offset: this.#wantedOffset, text: bytes.toString('utf8', this.#wantedOffset - piece.offset) };
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose(this);
  }

  #next(rawMax: number): { offset: number; text: string } | null {
    const raw = this.#captured?.read(this.#position, rawMax);
    if (raw === undefined || raw.bytes.length === 0) return this.#flush();
    if (raw.position > this.#position) {
      this.#decoder.decode(); // what it held back belongs to the part that is gone
      this.#offset += raw.position - this.#position;
    }
    this.#position = raw.position + raw.bytes.length;
    return this.#piece(this.#decoder.decode(raw.bytes, { stream: true })) ?? this.#next(rawMax);
  }

  #flush(): { offset: number; text: string } | null {
    if (!this.#isOver || this.#isFlushed) return null;
    this.#isFlushed = true;
    return this.#piece(this.#decoder.decode());
  }

  #piece(decoded: string): { offset: number; text: string } | null {
    if (decoded === '') return null;
    const text = withoutNul(decoded);
    const offset = this.#offset;
    this.#offset += Buffer.byteLength(text);
    return { offset, text };
  }
}
