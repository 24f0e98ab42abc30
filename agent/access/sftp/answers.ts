/** Answers that wait to be written, one behind the other in the order of the requests. */
import type { Stats } from 'node:fs';
import { writeAttributes } from './attributes.ts';
import { PACKET, type StatusCode } from './codes.ts';
import { PACKET_BYTES_MAX } from './limits.ts';
import { FieldWriter } from './wire.ts';

/**
 * Bytes of one answer at most, with its length in front: the data of a READ, or what READLINK, REALPATH and READDIR
 * give.
 */
const ANSWER_BYTES_MAX = PACKET_BYTES_MAX;

/** Bytes of answers after which they are written, before the next request is looked at. */
const BATCH_BYTES_MAX = 262_144;

const NUMBER_BYTES = 4;

const BATCH_BYTES = BATCH_BYTES_MAX + ANSWER_BYTES_MAX;

/**
 * Answers in memory for a batch of them. There is always room for one more of the largest, as long as `take` follows
 * when `isFull`.
 */
export class Answers extends FieldWriter {
  readonly #spare: Buffer[] = [];
  #start = 0;

  constructor() {
    super(BATCH_BYTES);
  }

  /** Whether to `take` before the next request. */
  get isFull(): boolean {
    return this.length >= BATCH_BYTES_MAX;
  }

  /** What waits, to be written; the next answers go elsewhere. */
  take(): Buffer {
    const batch = this.memory.subarray(0, this.length);
    this.memory = this.#spare.pop() ?? Buffer.allocUnsafeSlow(BATCH_BYTES);
    this.length = 0;
    return batch;
  }

  /** Gives memory back that was written. */
  written(batch: Buffer): void {
    this.#spare.push(Buffer.from(batch.buffer));
  }

  /** Begins an answer: its fields follow, then `end`. */
  begin(kind: number, request: number): void {
    this.#start = this.length;
    this.number(0);
    this.byte(kind);
    this.number(request);
  }

  /** Ends the answer. */
  end(): void {
    this.patch(this.#start, this.length - this.#start - NUMBER_BYTES);
  }

  /** How a request ended. */
  status(request: number, code: StatusCode, message: string): void {
    this.begin(PACKET.status, request);
    this.number(code);
    this.bytes(message);
    this.bytes('en');
    this.end();
  }

  /** What a file is. */
  attributes(request: number, stats: Stats): void {
    this.begin(PACKET.attributes, request);
    writeAttributes(this, stats);
    this.end();
  }

  /** One name, of which nothing else is said. */
  name(request: number, name: Uint8Array): void {
    this.begin(PACKET.name, request);
    this.number(1);
    this.bytes(name);
    this.bytes(name);
    this.number(0);
    this.end();
  }

  /**
   * Data of at most `length` bytes, which `read` puts into its place. Returns how many came; where none did, there is
   * no answer yet.
   */
  data(request: number, length: number, read: (memory: Buffer, at: number, length: number) => number): number {
    this.begin(PACKET.data, request);
    const came = read(this.memory, this.length + NUMBER_BYTES, length);
    if (came === 0) {
      this.length = this.#start;
      return 0;
    }
    this.number(came);
    this.length += came;
    this.end();
    return came;
  }
}
