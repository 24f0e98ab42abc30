/** Seeds of NATS nkeys, as far as a setting can be told to be wrong. */

/** Base 32. Source: RFC 4648, 6. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * Whether this is the seed of a user: 58 characters that begin with SU and end with their checksum. Source: NATS
 * documentation, NKeys (CRC-16/XMODEM, low byte first).
 */
export function isUserSeed(text: string): boolean {
  if (!/^SU[A-Z2-7]{56}$/u.test(text)) return false;
  const bits = text.replaceAll(/./gu, (character) => ALPHABET.indexOf(character).toString(2).padStart(5, '0'));
  const bytes = (bits.match(/.{8}/gu) ?? []).map((byte) => Number.parseInt(byte, 2));
  const [low = 0, high = 0] = bytes.slice(-2);
  return crc16(bytes.slice(0, -2)) === low + 256 * high;
}

function crc16(bytes: readonly number[]): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}
