/** Memory of all answers that are being read. */
import { AGENT_REQUESTS_BYTES_MAX } from './limits.ts';

/** Answers that are being read, with the memory that they hold together. */
export interface AnswerShelf {
  /** Room for more bytes of this one; when all together have no more room, the largest is cut. */
  grow(reading: Reading, bytes: number): void;
  drop(reading: Reading): void;
  readonly bytes: number;
}

/** One answer on the shelf. */
export interface Reading {
  bytes: number;
  /** Others need the room. */
  cut(): void;
}

/** An empty shelf. */
export function createAnswerShelf(bytesMax: number = AGENT_REQUESTS_BYTES_MAX): AnswerShelf {
  const readings = new Set<Reading>();
  let total = 0;
  const drop = (reading: Reading): void => {
    if (readings.delete(reading)) total -= reading.bytes;
  };
  return {
    drop,
    grow(reading, bytes) {
      if (readings.has(reading)) total -= reading.bytes;
      readings.add(reading);
      reading.bytes = bytes;
      total += bytes;
      if (total <= bytesMax) return; // else one is enough: it is the largest, and it grew by less than it has
      let largest = reading;
      for (const other of readings) if (other.bytes > largest.bytes) largest = other;
      drop(largest);
      largest.cut();
    },
    get bytes() {
      return total;
    },
  };
}
