/** The ways to write an address as the host of a URL. */

/** The bytes of an IPv4 address. */
export type Bytes = readonly number[];

/** Digits that IDNA maps to ASCII ones, and full stops that it maps to a dot. Source: UTS 46. */
const FULL_WIDTH = digitsFrom('０');
const MATHEMATICAL = digitsFrom('𝟎');
const STOPS = ['。', '．', '｡'];

/** Forms that parsers take for the same IPv4 address. Source: URL standard, IPv4 parser; inet_aton(3). */
export function v4Forms(bytes: Bytes): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const dotted = bytes.join('.');
  const whole = numberOf(bytes);
  return [
    dotted,
    `${dotted}.`,
    `${whole}`,
    `${whole}.`,
    `0x${whole.toString(16)}`,
    `0X${whole.toString(16).toUpperCase()}`,
    `0${whole.toString(8)}`,
    `0x${whole.toString(16).padStart(16, '0')}`,
    bytes.map((byte) => `0x${byte.toString(16)}`).join('.'),
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    bytes.map((byte) => `00000${byte.toString(8)}`).join('.'),
    `${a}.${(b << 16) + (c << 8) + d}`,
    `${a}.${b}.${(c << 8) + d}`,
    `0x${a.toString(16)}.0${b.toString(8)}.${(c << 8) + d}`,
    `0${a.toString(8)}.0x${((b << 16) + (c << 8) + d).toString(16)}`,
    [...Buffer.from(dotted)].map((byte) => `%${byte.toString(16)}`).join(''),
    dotted.replace('.', '%2e'),
    dotted.replaceAll(/\d/gu, (digit) => FULL_WIDTH[Number(digit)] ?? ''),
    dotted.replaceAll(/\d/gu, (digit) => MATHEMATICAL[Number(digit)] ?? ''),
    ...STOPS.map((stop) => dotted.replaceAll('.', stop)),
    dotted.replace('.', '\u00AD.'),
    `${whole}`.replaceAll(/\d/gu, (digit) => FULL_WIDTH[Number(digit)] ?? ''),
  ];
}

/** IPv6 addresses, in brackets, that lead or led to an IPv4 one. */
export const EMBEDDINGS: readonly ((bytes: Bytes) => string)[] = [
  (bytes) => `[::ffff:${bytes.join('.')}]`, // mapped, RFC 4291 2.5.5.2
  (bytes) => `[::ffff:${groups(bytes)}]`,
  (bytes) => `[0:0:0:0:0:FFFF:${groups(bytes).toUpperCase()}]`,
  // compatible, RFC 4291 2.5.5.1; ::1 is loopback itself
  (bytes) => `[::${bytes.join('.')}]`.replace('[::0.0.0.0]', '[::]').replace('[::0.0.0.1]', '[::ffff:0.0.0.1]'),
  (bytes) => `[::ffff:0:${bytes.join('.')}]`, // translated, RFC 2765
  (bytes) => `[64:ff9b::${bytes.join('.')}]`, // NAT64, RFC 6052
  (bytes) => `[64:ff9b:1::${groups(bytes)}]`, // NAT64 of one's own, RFC 8215
  (bytes) => `[2002:${groups(bytes)}::1]`, // 6to4, RFC 3056
  (bytes) => `[2001:0:808:808:0:0:${groups(bytes.map((byte) => 255 - byte))}]`, // Teredo, RFC 4380
  (bytes) => `[2a00:1450:4001:1:0:5efe:${groups(bytes)}]`, // ISATAP, RFC 5214
  (bytes) => `[2a00:1450:4001:1:200:5efe:${groups(bytes)}]`,
];

/** The same IPv6 address, in brackets, in several forms. `full` has all eight groups. */
export function v6Forms(full: readonly number[]): string[] {
  const hex = full.map((group) => group.toString(16));
  const tail = full.slice(6).flatMap((group) => [group >> 8, group & 0xff]);
  return [
    hex.join(':'),
    hex.join(':').toUpperCase(),
    hex.map((group) => group.padStart(4, '0')).join(':'),
    `${hex.slice(0, 6).join(':')}:${tail.join('.')}`,
  ].map((text) => `[${text}]`);
}

function digitsFrom(zero: string): string[] {
  return Array.from({ length: 10 }, (_unused, digit) => String.fromCodePoint((zero.codePointAt(0) ?? 0) + digit));
}

function numberOf(bytes: Bytes): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

function groups(bytes: Bytes): string {
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
