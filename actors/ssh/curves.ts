/**
 * Whether bytes are a point of a curve. Only public values come here, so nothing needs to take the same time for all.
 */

/** A NIST curve as SSH names it (RFC 5656, 10.1). */
export type CurveName = 'nistp256' | 'nistp384' | 'nistp521';

/** y² = x³ - 3x + b over the field of p; a coordinate has so many bytes. */
interface Curve {
  readonly bytes: number;
  readonly p: bigint;
  readonly b: bigint;
}

/** Source: NIST SP 800-186, 3.2.1. Each has the cofactor 1: a point on it has the order of its group. */
const CURVES: Readonly<Record<CurveName, Curve>> = {
  nistp256: {
    bytes: 32,
    p: 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
    b: 0x5ac635d8_aa3a93e7_b3ebbd55_769886bc_651d06b0_cc53b0f6_3bce3c3e_27d2604bn,
  },
  nistp384: {
    bytes: 48,
    p: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
    b: 0xb3312fa7_e23ee7e4_988e056b_e3f82d19_181d9c6e_fe814112_0314088f_5013875a_c656398d_8a2ed19d_2a85c8ed_d3ec2aefn,
  },
  nistp521: {
    bytes: 66,
    p: 2n ** 521n - 1n,
    b: 0x51_953eb961_8e1c9a1f_929a21a0_b68540ee_a2da725b_99b315f3_b8b48991_8ef109e1_56193951_ec7e937b_1652c0bd_3bb1bf07_3573df88_3d2c34f1_ef451fd4_6b503f00n,
  },
};

/** First byte of a point whose two coordinates follow (SEC 1, 2.3.3). */
const UNCOMPRESSED = 4;

/** Whether these are an uncompressed point on the curve. */
export function isCurvePoint(name: CurveName, bytes: Uint8Array): boolean {
  const { bytes: size, p, b } = CURVES[name];
  if (bytes.length !== 1 + 2 * size || bytes[0] !== UNCOMPRESSED) return false;
  const x = integer(bytes.subarray(1, 1 + size));
  const y = integer(bytes.subarray(1 + size));
  return x < p && y < p && modulo(x ** 3n - 3n * x + b - y ** 2n, p) === 0n;
}

/** The field of Ed25519 and its d (RFC 8032, 5.1). */
const P = 2n ** 255n - 19n;
const D = modulo(-121_665n * power(121_666n, P - 2n), P);

/**
 * Whether these are a point of edwards25519 in its only encoding (RFC 8032, 5.1.3), and one that can stand for a key:
 * of the eight points of small order none does, as anyone could sign for it.
 */
export function isEd25519Point(bytes: Uint8Array): boolean {
  if (bytes.length !== 32) return false;
  const encoded = integer(Uint8Array.from(bytes).reverse());
  const y = encoded & (2n ** 255n - 1n);
  if (y >= P) return false;
  const y2 = modulo(y * y, P);
  const x2 = modulo((y2 - 1n) * power(modulo(D * y2 + 1n, P), P - 2n), P);
  const isSquare = x2 === 0n || power(x2, (P - 1n) / 2n) === 1n;
  // Of order 1 or 2, of order 4, and of order 8: the doubled point is one of order 4.
  const isSmall = y2 === 1n || y2 === 0n || modulo(x2 + y2, P) === 0n;
  return isSquare && !isSmall;
}

function integer(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

function modulo(value: bigint, p: bigint): bigint {
  const rest = value % p;
  return rest < 0n ? rest + p : rest;
}

/** base^exponent in the field of Ed25519. */
function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = modulo(base, P);
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}
