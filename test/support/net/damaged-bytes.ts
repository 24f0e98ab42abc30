/** Bytes as no honest peer sends them: what one that speaks right says, damaged in one place. The same for a seed. */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

/** A place that is damaged has at most so many bytes. */
const PLACE_BYTES_MAX = 12;

/** Numbers that readers of text expect least. */
const DIGITS = ['', '0', '-1', '00', '1e9', '4294967296', '99999999999999999999'];

/** Numbers in binary are so long, in bytes, and all of such bytes. */
const WIDTHS = [1, 2, 4, 8];
const FILLINGS = [0x00, 0x01, 0x7f, 0x80, 0xff];

/**
 * The bytes with other ones in one place, further ones or some missing, twice what is there, a number that is another
 * one (in binary or in digits), cut, with more behind them than was said, or all of them said again.
 */
export function damagedBytes(whole: Buffer, numbers: () => number): Buffer {
  const at = numbers() % Math.max(1, whole.length);
  const end = at + 1 + (numbers() % PLACE_BYTES_MAX);
  const [before, place, after] = [whole.subarray(0, at), whole.subarray(at, end), whole.subarray(end)];
  switch (numbers() % 9) {
    case 0:
      return Buffer.concat([before, noise(place.length, numbers), after]);
    case 1:
      return Buffer.concat([before, noise(end - at, numbers), place, after]);
    case 2:
      return Buffer.concat([before, after]);
    case 3:
      return Buffer.concat([before, place, place, after]);
    case 4:
      return before;
    case 5:
      return Buffer.concat([whole, noise(numbers() % 200, numbers)]);
    case 6: {
      const width = oneOf(WIDTHS, numbers);
      return Buffer.concat([before, Buffer.alloc(width, oneOf(FILLINGS, numbers)), whole.subarray(at + width)]);
    }
    case 7:
      return Buffer.concat([whole, whole]);
    default:
      return otherDigits(whole, numbers);
  }
}

/**
 * Damages the write of this number, from 1, of those that come on this side of a connection: it is the last, and the
 * connection ends behind it, or is cut. `damaged` hears of it.
 */
export function damageWrite(side: Duplex, at: number, numbers: () => number, damaged: () => void = () => {}): void {
  const write = side.write.bind(side) as (bytes: Uint8Array, ...more: unknown[]) => boolean;
  let writes = 0;
  side.write = (said: Uint8Array | string, ...more: unknown[]): boolean => {
    writes += 1;
    const bytes = Buffer.from(said as string, typeof more[0] === 'string' ? (more[0] as BufferEncoding) : undefined);
    if (writes < at) return write(bytes, ...more.filter((one) => typeof one === 'function'));
    if (writes > at) return false;
    damaged();
    const isCut = numbers() % 4 === 0;
    write(damagedBytes(bytes, numbers), () => (isCut ? cut(side) : side.end()));
    return false;
  };
}

/** By a reset, where nothing is between it and TCP. */
function cut(side: Duplex): void {
  if (side instanceof Socket && !(side instanceof TLSSocket)) side.resetAndDestroy();
  else side.destroy();
}

function noise(length: number, numbers: () => number): Buffer {
  return Buffer.from(Array.from({ length }, () => numbers() % 256));
}

function otherDigits(whole: Buffer, numbers: () => number): Buffer {
  const text = whole.toString('latin1');
  const found = [...text.matchAll(/\d+/gu)];
  const one = found[numbers() % Math.max(1, found.length)];
  if (one === undefined) return Buffer.concat([whole, whole]);
  return Buffer.from(
    text.slice(0, one.index) + oneOf(DIGITS, numbers) + text.slice(one.index + one[0].length),
    'latin1',
  );
}

function oneOf<T>(choices: readonly T[], numbers: () => number): T {
  return choices[numbers() % choices.length] as T;
}
