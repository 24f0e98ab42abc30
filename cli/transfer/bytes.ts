/** Numbers of bytes, and digests of files on this machine. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const;
const UNIT_BYTES = 1_024;

/** Hexadecimal digits of a digest that are shown. */
const DIGEST_SHOWN = 16;

/** `512 B`, `1.2 MiB`, `34 GiB`. */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 'B'];
  for (const larger of UNITS) {
    if (value < UNIT_BYTES) break;
    [value, unit] = [value / UNIT_BYTES, larger];
  }
  return `${unit === 'B' || value >= 10 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

/** The beginning of a digest, for people. */
export function digestText(sha256: string): string {
  return sha256.slice(0, DIGEST_SHOWN);
}

/** SHA-256 of the first `bytes` bytes of a file here, in hexadecimal digits. Rejects with the error of the system. */
export async function localDigest(path: string, bytes: number): Promise<string> {
  const hash = createHash('sha256');
  // an end before the beginning is no way to ask for nothing
  if (bytes > 0) for await (const chunk of createReadStream(path, { end: bytes - 1 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
