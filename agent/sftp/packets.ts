/** Cuts what comes in into packets: a length of 32 bits, and as many bytes. */
import { INPUT_BYTES_MAX, PACKET_BYTES_MAX } from './limits.ts';
import { FieldReader, Garbage } from './wire.ts';

/** Puts up to `length` bytes into `memory` at `at`. Returns how many, and 0 at the end. */
export type ReadBytes = (memory: Buffer, at: number, length: number) => number;

const LENGTH_BYTES = 4;

/** Bytes of the smallest packet: its kind and the number of a request, or of a version. */
const PACKET_BYTES_MIN = 5;

/** Holds what came and was not answered yet, in memory of a fixed size. */
export class Packets {
  readonly #memory = Buffer.allocUnsafeSlow(INPUT_BYTES_MAX);
  #start = 0;
  #end = 0;

  /** Bytes that came and are no whole packet yet, or not taken. */
  get bytesHeld(): number {
    return this.#end - this.#start;
  }

  /** Reads once, as much as there is room for. What `next` gave before is not good any more. Returns the bytes that came: 0 at the end. */
  fill(read: ReadBytes): number {
    this.#makeRoom();
    const came = read(this.#memory, this.#end, this.#memory.length - this.#end);
    this.#end += came;
    return came;
  }

  /** The next whole packet, or null until more came. Throws Garbage on a length that no packet has. */
  next(): FieldReader | null {
    if (this.bytesHeld < LENGTH_BYTES) return null;
    const length = this.#memory.readUInt32BE(this.#start);
    if (length < PACKET_BYTES_MIN || length > PACKET_BYTES_MAX) throw new Garbage(`a packet of ${length} bytes: ${PACKET_BYTES_MIN} to ${PACKET_BYTES_MAX} are possible`);
    const at = this.#start + LENGTH_BYTES;
    if (at + length > this.#end) return null;
    this.#start = at + length;
    return new FieldReader(this.#memory, at, at + length);
  }

  /** Moves the beginning of a packet to the front only when the packet might not fit behind it: moving costs as much as reading. */
  #makeRoom(): void {
    if (this.#start === this.#end) this.#start = this.#end = 0;
    if (this.#start + LENGTH_BYTES + PACKET_BYTES_MAX <= this.#memory.length) return;
    this.#memory.copyWithin(0, this.#start, this.#end);
    this.#end -= this.#start;
    this.#start = 0;
  }
}
