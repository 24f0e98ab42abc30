/**
 * The fields of SFTP packets: numbers are big-endian, texts are bytes after their length (draft-ietf-secsh-filexfer-02,
 * 3).
 */

/** What no client that speaks SFTP sends. There is no way on from it: lengths cannot be trusted any more. */
export class Garbage extends Error {
  override readonly name = 'Garbage';
}

const NUMBER_BYTES = 4;
const LONG_BYTES = 8;
const LONG_HALF = 0x1_0000_0000;

/**
 * Reads the fields of one packet in their order. Texts are views into the packet, not copies: they are good until the
 * request is answered.
 */
export class FieldReader {
  readonly #packet: Buffer;
  #at: number;
  readonly #end: number;

  /** The fields stand from `at` to before `end`. */
  constructor(packet: Buffer, at: number, end: number) {
    this.#packet = packet;
    this.#at = at;
    this.#end = end;
  }

  /** Bytes that were not read yet. */
  get bytesLeft(): number {
    return this.#end - this.#at;
  }

  /** One byte. */
  byte(): number {
    return this.#packet.readUInt8(this.#take(1));
  }

  /** A number of 32 bits. */
  number(): number {
    return this.#packet.readUInt32BE(this.#take(NUMBER_BYTES));
  }

  /** A number of 64 bits. Beyond 2^53 it is not exact, and stays beyond it. */
  long(): number {
    const at = this.#take(LONG_BYTES);
    return this.#packet.readUInt32BE(at) * LONG_HALF + this.#packet.readUInt32BE(at + NUMBER_BYTES);
  }

  /** Bytes after their length: a name, a handle, or data. */
  bytes(): Buffer {
    const length = this.number();
    const at = this.#take(length);
    return this.#packet.subarray(at, at + length);
  }

  #take(bytes: number): number {
    const at = this.#at;
    if (bytes > this.#end - at)
      throw new Garbage(`a field of ${bytes} bytes in a packet that has ${this.#end - at} left`);
    this.#at = at + bytes;
    return at;
  }
}

/** Writes the fields of packets one after the other into memory that the caller has made large enough. */
export class FieldWriter {
  memory: Buffer;
  /** Where the next field goes, and so how many bytes there are. */
  length = 0;

  constructor(bytes: number) {
    this.memory = Buffer.allocUnsafeSlow(bytes);
  }

  /** One byte. */
  byte(value: number): void {
    this.length = this.memory.writeUInt8(value, this.length);
  }

  /** A number of 32 bits. */
  number(value: number): void {
    this.length = this.memory.writeUInt32BE(value, this.length);
  }

  /**
   * A whole number in 64 bits; exact up to 2^53, and the largest of them where it is larger, as some file systems
   * count.
   */
  long(value: number): void {
    this.number(Math.min(Math.floor(value / LONG_HALF), LONG_HALF - 1));
    this.number(value % LONG_HALF);
  }

  /** Bytes, or a text in UTF-8, after their length. */
  bytes(value: Uint8Array | string): void {
    const length = typeof value === 'string' ? Buffer.byteLength(value) : value.length;
    this.number(length);
    if (typeof value === 'string') this.memory.write(value, this.length);
    else this.memory.set(value, this.length);
    this.length += length;
  }

  /** A text with bytes behind it, after the length of both. */
  joined(text: string, bytes: Uint8Array): void {
    const at = this.length;
    this.bytes(text);
    this.memory.set(bytes, this.length);
    this.length += bytes.length;
    this.patch(at, this.length - at - NUMBER_BYTES);
  }

  /** Overwrites the number that was written at `at`. */
  patch(at: number, value: number): void {
    this.memory.writeUInt32BE(value, at);
  }
}
