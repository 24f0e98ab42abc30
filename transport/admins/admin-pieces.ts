/**
 * Messages between admins that go through the database, which notifies of short texts: each is cut into pieces, and put
 * together again.
 */
import { DATABASE_MESSAGE_BYTES_MAX, PIECE_CHARS_MAX, PIECES_AGE_MS_MAX, UNFINISHED_MESSAGES_MAX } from './limits.ts';

/** `call`: a header with what it proves. `answer`: to the header of this nonce. */
export interface PiecedMessage {
  readonly type: 'call' | 'answer';
  /** The nonce of the header. */
  readonly nonce: string;
  /** Of a call; empty in an answer. */
  readonly header: string;
  /** Sealed. */
  readonly body: Buffer;
}

/** Most pieces that one message has. */
const PIECES_MAX = Math.ceil((DATABASE_MESSAGE_BYTES_MAX * 4) / 3 / PIECE_CHARS_MAX) + 1;

/** As texts, each short enough to be notified of: place, number of pieces, type, nonce, header, and base64. */
export function piecesOf({ type, nonce, header, body }: PiecedMessage): readonly string[] {
  const text = body.toString('base64');
  const count = Math.max(1, Math.ceil(text.length / PIECE_CHARS_MAX));
  return Array.from({ length: count }, (_, place) =>
    [place, count, type, nonce, header, text.slice(place * PIECE_CHARS_MAX, (place + 1) * PIECE_CHARS_MAX)].join(' '),
  );
}

interface Unfinished {
  readonly pieces: (string | undefined)[];
  readonly atMs: number;
  left: number;
}

/** Puts messages together, of which few are unfinished at a time: the oldest is given up first. */
export class Pieces {
  readonly #nowMs: () => number;
  readonly #unfinished = new Map<string, Unfinished>();

  /** `nowMs`: monotonic. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The message that is whole with this piece; null: it is not yet, or this is none. */
  add(text: string): PiecedMessage | null {
    const [place = '', count = '', type = '', nonce = '', header = '', piece = ''] = text.split(' ');
    const [index, of] = [Number(place), Number(count)];
    if ((type !== 'call' && type !== 'answer') || nonce === '' || !(of >= 1 && of <= PIECES_MAX)) return null;
    if (!Number.isInteger(of) || !Number.isInteger(index) || index < 0 || index >= of) return null;
    const key = `${type} ${nonce} ${header} ${of}`;
    const known = this.#known(key, of);
    if (known.pieces[index] !== undefined) return null;
    known.pieces[index] = piece;
    known.left -= 1;
    if (known.left > 0) return null;
    this.#unfinished.delete(key);
    return { type, nonce, header, body: Buffer.from(known.pieces.join(''), 'base64') };
  }

  #known(key: string, count: number): Unfinished {
    const nowMs = this.#nowMs();
    for (const [old, { atMs }] of this.#unfinished) {
      if (nowMs - atMs < PIECES_AGE_MS_MAX) break;
      this.#unfinished.delete(old);
    }
    const known = this.#unfinished.get(key);
    if (known !== undefined) return known;
    const [oldest] = this.#unfinished.keys();
    if (oldest !== undefined && this.#unfinished.size >= UNFINISHED_MESSAGES_MAX) this.#unfinished.delete(oldest);
    const begun = { pieces: Array.from<string | undefined>({ length: count }), atMs: nowMs, left: count };
    this.#unfinished.set(key, begun);
    return begun;
  }
}
