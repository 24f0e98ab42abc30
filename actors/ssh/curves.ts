/**
 * Whether bytes are a point of a curve, by `@noble/curves`. Only public values come here. See docs/decisions/curves.md.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256, p384, p521 } from '@noble/curves/nist.js';

/** A NIST curve as SSH names it (RFC 5656, 10.1). */
export type CurveName = 'nistp256' | 'nistp384' | 'nistp521';

const CURVES = { nistp256: p256, nistp384: p384, nistp521: p521 } as const satisfies Record<CurveName, unknown>;

/** First byte of a point whose two coordinates follow (SEC 1, 2.3.3). */
const UNCOMPRESSED = 4;

/** Whether these are an uncompressed point on the curve, and not infinity. The library would take a compressed one. */
export function isCurvePoint(name: CurveName, bytes: Uint8Array): boolean {
  return bytes[0] === UNCOMPRESSED && pointOf(CURVES[name].Point, bytes) !== null;
}

/**
 * Whether these are a point of edwards25519 in its only encoding (RFC 8032, 5.1.3), and one that can stand for a key:
 * of the eight points of small order none does, as anyone could sign for it.
 */
export function isEd25519Point(bytes: Uint8Array): boolean {
  const point = pointOf(ed25519.Point, bytes);
  return point !== null && !point.isSmallOrder();
}

/** Null for what does not decode strictly: the library throws, and says no more of it than that. */
function pointOf<Point>(curve: { fromBytes(bytes: Uint8Array): Point }, bytes: Uint8Array): Point | null {
  try {
    return curve.fromBytes(bytes);
  } catch {
    return null;
  }
}
