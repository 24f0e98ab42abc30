/** Cuts what comes in into packets: a length of 32 bits, and as many bytes. */
import { PACKET_BYTES_MAX } from './limits.ts';
import { FieldReader, Garbage } from './wire.ts';

/** Bytes that are read at once. */
export const READ_BYTES_MAX = 262_144;

/**
 * Bytes of requests that wait, beyond which nothing is read: one packet of the largest size, and hundreds of small
 * ones.
 */
export const HELD_BYTES_MAX = 2 * PACKET_BYTES_MAX;

const LENGTH_BYTES = 4;

/** Bytes of the smallest packet: its kind and the number of a request, or of a version. */
const PACKET_BYTES_MIN = 5;

/** Holds what came and was not answered yet, in memory of a fixed size. */
export class Packets {
  readonly #memory = Buffer.allocUnsafeSlow(HELD_BYTES_MAX + 2 * READ_BYTES_MAX);
  #start = 0;
  #end = 0;

  /** Bytes that came and are no whole packet yet, or not taken. */
  get bytesHeld(): number {
    return this.#end - this.#start;
  }

  /** Whether so much waits that nothing should be read before some of it was taken. */
  get isFull(): boolean {
    return this.bytesHeld >= HELD_BYTES_MAX;
  }

  /**
   * Memory for what comes next: at least READ_BYTES_MAX unless `isFull`. What `next` gave before is not good any more.
   */
  room(): Buffer {
    this.#makeRoom();
    return this.#memory.subarray(this.#end, this.#end + READ_BYTES_MAX);
  }

  /** Says how many bytes were put into the room. */
  added(bytes: number): void {
    this.#end += bytes;
  }

  /** The next whole packet, or null until more came. Throws Garbage on a length that no packet has. */
  next(): FieldReader | null {
    if (this.bytesHeld < LENGTH_BYTES) return null;
    const length = this.#memory.readUInt32BE(this.#start);
    if (length < PACKET_BYTES_MIN || length > PACKET_BYTES_MAX)
      throw new Garbage(`a packet of ${length} bytes: ${PACKET_BYTES_MIN} to ${PACKET_BYTES_MAX} are possible`);
    const at = this.#start + LENGTH_BYTES;
    if (at + length > this.#end) return null;
    this.#start = at + length;
    return new FieldReader(this.#memory, at, at + length);
  }

  /**
   * Moves the beginning of a packet to the front only when there is too little behind it: moving costs as much as
   * reading.
   */
  #makeRoom(): void {
    if (this.#start === this.#end) this.#start = this.#end = 0;
    if (this.#memory.length - this.#end >= READ_BYTES_MAX) return;
    this.#memory.copyWithin(0, this.#start, this.#end);
    this.#end -= this.#start;
    this.#start = 0;
  }
}
