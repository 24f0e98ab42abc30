/**
 * The frames of what a PostgreSQL says, looked through before `pg` parses them: it loops for ever in an error whose
 * fields have no end, and keeps what a length announces, however long. Source: PostgreSQL, message formats; `pg` 8.23.
 */

/**
 * Longest message of a server, in bytes: far above any row that is stored here. What says that it is longer is not
 * waited for.
 */
export const ANSWER_BYTES_MAX = 268_435_456;

/** A type, and the length of all that follows the type, its own four bytes included. */
const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;

/** Those that `pg` knows. */
const TYPES: ReadonlySet<number> = new Set(Buffer.from('123AcCdDEGHIKnNRsStTWZ'));
const ERROR = 'E'.codePointAt(0);
const NOTICE = 'N'.codePointAt(0);

/** Those of one connection, from its first byte. */
export class AnswerFrames {
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headLength = 0;
  /** Bytes of the message that are still to come. */
  #left = 0;
  /** What came of an error or a notice; null: another message. */
  #fields: Buffer[] | null = null;

  /**
   * The next bytes, which may end anywhere. Throws at what is not to be parsed: nothing that follows it is known then.
   */
  check(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#left === 0) {
        at += this.#begin(bytes, at);
        continue;
      }
      const end = Math.min(bytes.length, at + this.#left);
      this.#fields?.push(bytes.subarray(at, end));
      this.#left -= end - at;
      at = end;
      if (this.#left === 0) this.#end();
    }
  }

  /** How many bytes it took. */
  #begin(bytes: Buffer, at: number): number {
    const taken = bytes.copy(this.#head, this.#headLength, at, at + HEAD_BYTES - this.#headLength);
    this.#headLength += taken;
    if (this.#headLength < HEAD_BYTES) return taken;
    this.#headLength = 0;
    const type = this.#head[0] ?? 0;
    const length = this.#head.readUInt32BE(1);
    if (!TYPES.has(type)) throw new RangeError(`a message of type ${type}`);
    if (length < LENGTH_BYTES || length > ANSWER_BYTES_MAX) throw new RangeError(`a message of ${length} bytes`);
    this.#fields = type === ERROR || type === NOTICE ? [] : null;
    this.#left = length - LENGTH_BYTES;
    if (this.#left === 0) this.#end();
    return taken;
  }

  #end(): void {
    if (this.#fields === null) return;
    checkFields(Buffer.concat(this.#fields));
    this.#fields = null;
  }
}

/** Each a type and a text that ends with a zero; a zero ends them all. */
function checkFields(fields: Buffer): void {
  for (let at = 0; fields[at] !== 0;) {
    const end = fields.indexOf(0, at + 1);
    if (end === -1) throw new RangeError('an error whose fields do not end');
    at = end + 1;
  }
}
