/** An output as it grows, as text with byte offsets, for those who watch. */
import type { CapturedOutput } from './captured-output.ts';
import { pieceOf, utf8Decoder, withoutNul } from './output-text.ts';
import type { OutputCursor } from '../../session/ports.ts';

/** Bytes of text that the decoder may add to a piece for what it held back of the piece before. */
const HELD_BACK_BYTES_MAX = 12;

/**
 * Pieces that one read passes over on its way to where it should begin. That place may be one that is never reached,
 * and a script may write as fast as it is read.
 */
export const PIECES_PASSED_MAX = 16;

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
  /** Text that is decoded and not given out: bytes that are invalid grow threefold. */
  #rest = Buffer.alloc(0);
  #position = 0;
  #offset = 0;
  #isOver = false;
  #isFlushed = false;
  #isClosed = false;
  #isWaking = false;

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
    return this.#isOver && (this.#isFlushed || this.#offset >= this.#wantedOffset);
  }

  get offset(): number {
    return Math.max(this.#offset, this.#wantedOffset);
  }

  read(bytesMax: number): { offset: number; text: string } | null {
    for (let passed = 0; passed < PIECES_PASSED_MAX; passed += 1) {
      if (this.#rest.length === 0 && !this.#decodeMore(bytesMax - HELD_BACK_BYTES_MAX)) return null;
      const { text, next } = pieceOf(this.#rest, 0, bytesMax);
      this.#rest = this.#rest.subarray(next);
      const offset = this.#offset;
      this.#offset += next;
      if (offset >= this.#wantedOffset) return { offset, text };
      if (this.#offset > this.#wantedOffset)
        return { offset: this.#wantedOffset, text: Buffer.from(text).toString('utf8', this.#wantedOffset - offset) };
    }
    this.#wakeSoon();
    return null;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose(this);
  }

  /** Reads on until there is some text; false when there is none now. */
  #decodeMore(rawBytesMax: number): boolean {
    while (this.#rest.length === 0) {
      const raw = this.#captured?.read(this.#position, rawBytesMax);
      if (raw === undefined || raw.bytes.length === 0) return this.#flush();
      if (raw.position > this.#position) {
        this.#decoder.decode(); // what it held back belongs to the part that is gone
        this.#offset += raw.position - this.#position;
      }
      this.#position = raw.position + raw.bytes.length;
      this.#rest = Buffer.from(withoutNul(this.#decoder.decode(raw.bytes, { stream: true })));
    }
    return true;
  }

  #flush(): boolean {
    if (!this.#isOver || this.#isFlushed) return false;
    if (!this.ended) this.#wakeSoon(); // whoever reads now took it for one that goes on
    this.#isFlushed = true;
    this.#rest = Buffer.from(this.#decoder.decode());
    return this.#rest.length > 0;
  }

  /** Calls for a read behind what else this program has to do. */
  #wakeSoon(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      if (!this.#isClosed) this.#wake();
    });
  }
}
