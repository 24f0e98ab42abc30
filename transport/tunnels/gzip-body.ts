/**
 * Bodies that were packed by gzip: unpacked to as many bytes as they say to have, and not to one more. Source: RFC
 * 1952.
 */
import { gunzip, gunzipSync } from 'node:zlib';

/** Unpacked in the turn in which it came: 64 KiB take 0.2 ms. What is longer is left to another thread (L1). */
const UNPACKED_AT_ONCE_BYTES_MAX = 131_072;

/** Smallest body of gzip, in bytes: a head of 10, a block of 2 and two numbers of 4. */
const PACKED_BYTES_MIN = 20;

/** Room beyond what it says, in bytes, so that its end is seen in the same go. */
const BESIDES_BYTES = 64;

/** Bytes that it says to have, which is found to be a lie only when it is unpacked. Source: RFC 1952, 2.3.1, ISIZE. */
export function unpackedLength(packed: Buffer): number {
  return packed.length < PACKED_BYTES_MIN ? 0 : packed.readUInt32LE(packed.length - 4);
}

/** Tells the body, which has so many bytes; null: it has not, or is no gzip. Never throws. */
export function unpack(packed: Buffer, bytes: number, unpacked: (body: Buffer | null) => void): void {
  const whole = (body: Buffer): void => unpacked(body.length === bytes ? body : null);
  const limits = { maxOutputLength: Math.max(bytes, 1) };
  if (bytes > UNPACKED_AT_ONCE_BYTES_MAX)
    return gunzip(packed, limits, (error, body) => (error === null ? whole(body) : unpacked(null)));
  let body: Buffer;
  try {
    body = gunzipSync(packed, { ...limits, chunkSize: bytes + BESIDES_BYTES });
  } catch {
    return unpacked(null); // whatever it is, it is not what was asked for
  }
  whole(body);
}
